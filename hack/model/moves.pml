/*
 * A tree of pools in which a FederatedQuota moves, and a restore of the hub's etcd that has to be known in it.
 *
 * Pool P has FederatedQuota c and pool Q below it, Q has FederatedQuota b, and FederatedQuota a moves between Q and P with
 * all that it has in use; with LEAVES a and Q also leave the tree, and come back with nothing. Steps that pool.pml has,
 * too, are the same here, and so is what a step may read: its own object as it is, and any version of the other one that
 * it could tell apart, but where a live read is demanded.
 *
 * Members are left out: last is the most that those of a FederatedQuota may have in force or on its way. It goes up with
 * a raise, and down to the target when they have taken that up and what they use has fallen. It is what a restore does
 * not put back. Their reports are late: they say anything between last and what it was at the last decision.
 *
 * With RESTORE, etcd goes back once, to any earlier state. The hub manager starts again then, and once more at any time
 * (Restart), and knows of the restore what it hears (Hear): that there was one, at first; later what ledgers say of
 * themselves (done) and what members show (ahead). Until it has heard, no FederatedQuota decides anything.
 */

#ifndef BUDGET
#define BUDGET 1
#endif
#ifndef HELD
#define HELD BUDGET       /* what a has at the start */
#endif
#if defined(JOINS)
#define OUTSIDE BUDGET
#elif defined(OUTER)
#define OUTSIDE HELD
#else
#define OUTSIDE 0
#endif
#ifndef REVS
#define REVS 3            /* revisions of each pool before a restore */
#endif
#ifndef MORE
#define MORE 4            /* and after it, above the floors */
#endif
#ifndef TENS
#define TENS 3            /* tenures of a, and of Q, before a restore */
#endif
#ifndef MTENS
#define MTENS 3           /* and after it */
#endif
#define UNKNOWN 7
#define Max(a, b) ((a) > (b) -> (a) : (b))
#define Min(a, b) ((a) < (b) -> (a) : (b))
#ifdef RESTORE
#define FLOOR (REVS + 1)  /* the epoch of the restore, among revisions, and among tenures */
#define EPOCH (TENS + 1)
#define PMAX (FLOOR + MORE)
#define TMAX (TENS + MTENS)
bit restored, restarted, unheard, told;
#ifdef BACKUP
bit backedUp;
#else
#define backedUp 1        /* the backup is of the start */
#endif
unsigned known : 2;       /* the last restore that the hub manager knows of */
#else
#define FLOOR 1
#define PMAX REVS
#define TMAX TENS
#define restored 0
#define unheard 0
#define known 0
#endif
bit started;
byte tmp, x, n;

/* ---- children: a, b and c are FederatedQuotas, and Q is the pool ---- */
#define A 0
#define B 1
#define C 2
#define Q 3
typedef Child {
	unsigned named : 2;           /* the pool that its spec names: 1 is P, 2 is Q, 0 none */
	unsigned in : 2;              /* status.pool: the pool that it stands in ... */
	unsigned tenure : 4;          /* ... since this tenure ... */
	unsigned rev : 4;             /* ... took up this revision, or takes up none below ... */
	unsigned cap : 2;             /* ... whose target this was ... */
	bit frozen;                   /* ... or was told nothing yet */
	unsigned granted : 3; unsigned target : 2;    /* its own ledger, if it is a FederatedQuota */
	unsigned done : 2             /* status.restored: the restore for which its ledger was rebuilt last */
};
Child child[4];
unsigned pdone : 2;       /* that of P */
typedef Member { unsigned last : 2; unsigned top : 2;
	bit news; bit ahead           /* something was decided since the backup; and they enforce it */
};
Member member[3];
byte seen[4];             /* the sums that a child had since its membership is what it is */

/* ---- entries: pool P is 0, pool Q is 1 ---- */
#define PA 0
#define QA 1
#define QB 2
#define PC 3
#define PQ 4
typedef Entry { bit on; unsigned granted : 3; unsigned target : 2; unsigned rev : 4; unsigned tenure : 4 };
Entry entry[5];
typedef Pool { unsigned ctr : 4 };
Pool pool[2];
bit raised[2];            /* the hub manager has raised somebody in it, or seen that all are entered */
typedef Past { bit on; unsigned target : 2; unsigned tenure : 4 };
Past past[5 * (PMAX + 1)];            /* every entry that was ever stored, by revision, while a child may take it up */
#define At(e, k) ((e) * (PMAX + 1) + (k))

#define Has(e) (entry[e].on -> entry[e].granted : 0)
#define Sum(p) Min(UNKNOWN, (p == 0 -> Has(PA) + Has(PC) + Has(PQ) : Has(QA) + Has(QB)))
#define HasTarget(e) (entry[e].on -> entry[e].target : 0)
#define G(i) (i == Q -> Sum(1) : child[i].granted)
#define T(i) Min(3, (i == Q -> HasTarget(QA) + HasTarget(QB) : child[i].target))
#define Saw(i) seen[i] = seen[i] | (1 << G(i))
#define Fresh(i) seen[i] = (1 << G(i))
#define Read(i, s) ((seen[i] >> (s)) & 1)
#define Stored(p) if :: p == 1 -> Saw(Q) :: else fi
#define Budget(p) (p == 0 || !child[Q].in -> BUDGET : child[Q].cap)
#define Free(p) (Sum(p) <= Budget(p) -> Budget(p) - Sum(p) : 0)
#define Debt(p) (Sum(p) > Budget(p) -> Sum(p) - Budget(p) : 0)
#define Frozen(i) (child[i].in -> child[i].frozen : child[i].named > 0)
#define PFrozen(p) (p == 1 && Frozen(Q))
#define IsOf(e, i, p) (entry[e].on && child[i].in == p + 1 && entry[e].tenure == child[i].tenure)
#define Later(e, i) (entry[e].on && child[i].tenure > entry[e].tenure)

/* ---- what is to be rebuilt first ---- */
#ifdef M_POOLS_UNTOLD     /* wrong: pools learn of a restore by their children alone */
#define PBehind(p) (false)
#else
#define PBehind(p) ((p == 0 -> pdone : child[Q].done) < known)
#endif
#ifdef M_CHILD_TRUSTS     /* wrong: a child whose own members show nothing goes on */
#define CBehind(i) (i != C && child[i].done < known)
#else
#define CBehind(i) (child[i].done < known)
#endif
#ifdef LOSES
bit lost[3];              /* its status was wiped, and it has taken in no members yet */
bit wiped;
#define Lost(i) lost[i]
#else
#define Lost(i) false
#endif
#define Acts(i) (!unheard && !CBehind(i) && !Lost(i))
#ifdef RESTORE
#define Room(p) (pool[p].ctr < REVS && pool[p].ctr < FLOOR || restored && pool[p].ctr < PMAX && pool[p].ctr >= FLOOR)
#define TRoom(i) (child[i].tenure < (restored -> TMAX : TENS))
#define NextTenure(i) Max(restored * EPOCH, child[i].tenure + 1)
#else
#define Room(p) (pool[p].ctr < REVS)
#define TRoom(i) (child[i].tenure < TENS)
#define NextTenure(i) (child[i].tenure + 1)
#endif

/* ---- properties ---- */
#define InTree(i) (child[i].in == 1 || child[i].in == 2 && child[Q].in)
#define Used(i) (InTree(i) -> member[i].last : 0)
#define S1 (Used(A) + Used(B) + Used(C) <= BUDGET)
/* What may be in force below a pool is in its entry, but while it has yet to be told that it has more than its cap. */
#define P2(e, i, p) (child[i].in != p + 1 || child[i].frozen || IsOf(e, i, p) && member[i].last <= entry[e].granted)
#if defined(ONLY_S1) || defined(RESTORE)
#define Check() assert(S1)
#else
#define Check() assert(S1); assert(P2(PA, A, 0)); assert(P2(QA, A, 1)); assert(P2(QB, B, 1)); assert(P2(PC, C, 0))
#endif
#ifndef WITNESS
#define WITNESS 0
#endif
#define Witness(n) assert(WITNESS != n)
#define W_LEFT_Q 1        /* Q lets go of what a has taken to P, which has it in use */
#define W_LEFT_P 2        /* P lets go of what a has taken to Q */
#define W_KEPT 3          /* Q keeps a part of that */
#define W_RENEWED 4       /* Q is counted anew, since it has grown */
#define W_REBUILT 5       /* all have rebuilt after a restore, and somebody is raised */
#define W_STORED 6        /* a hub manager learns of a restore by what is stored alone */
#define W_NOTICED_TWICE 7 /* one takes a restore for another one */
#define W_REBUILT_TWICE 8 /* a pool rebuilds again, as a child shows a higher floor */
#define W_MOVED_AFTER 9   /* a moves after a restore, with what it has in use, and is let go of */
#define W_CAME_BACK 10    /* Q has left the tree, come back, and was raised */
#define W_BEGUN 11        /* a ledger that was lost has begun anew, and is raised */

/* ================================================= steps of a pool =============================================== */
inline keep(e) {
	past[At(e, entry[e].rev)].on = 1;
	past[At(e, entry[e].rev)].target = entry[e].target;
	past[At(e, entry[e].rev)].tenure = entry[e].tenure
}
inline forget(e, upto) {  /* nobody takes these up any more */
	n = 1;
	do
	:: n <= upto -> past[At(e, n)].on = 0; past[At(e, n)].target = 0; past[At(e, n)].tenure = 0; n++
	:: else -> break
	od;
	n = 0
}
inline forgetAll(i) {     /* a child that begins a tenure takes up nothing of those before */
	if
	:: i == A -> forget(PA, PMAX); forget(QA, PMAX)
	:: i == B -> forget(QB, PMAX)
	:: i == C -> forget(PC, PMAX)
	:: i == Q -> forget(PQ, PMAX)
	fi
}
inline next(p, e, y) { pool[p].ctr++; entry[e].target = y; entry[e].rev = pool[p].ctr; keep(e); Stored(p) }
inline drop(p, e) {
	entry[e].on = 0; entry[e].granted = 0; entry[e].target = 0; entry[e].rev = 0; entry[e].tenure = 0; Stored(p)
}
#define Steers(p) (!PBehind(p) && Room(p) && !PFrozen(p))

/* Heard: until the hub manager has raised somebody, all that name the pool have to be entered, by a live list. */
#define Entered(e, i, p) (child[i].named != p + 1 || entry[e].on)
#define Heard(p) (raised[p] || (p == 0 -> Entered(PA, A, 0) && Entered(PC, C, 0) && Entered(PQ, Q, 0) \
	: Entered(QA, A, 1) && Entered(QB, B, 1)))
inline PRaise(p, e, i) {
	d_step { Steers(p) && entry[e].on && Free(p) > 0 && Heard(p) ->
		entry[e].granted++; raised[p] = 1; next(p, e, entry[e].granted);
		if :: restored && pdone && child[Q].done && child[A].done && child[C].done ->
			Witness(W_REBUILT) :: else fi;
		if :: e == PQ && child[Q].tenure >= 3 && !restored && !entry[QA].on -> Witness(W_CAME_BACK) :: else fi;
		Check() }
}
inline PLower(p, e, i) {
	d_step { Steers(p) && entry[e].on && entry[e].target > 0 -> next(p, e, entry[e].target - 1); Check() }
}
inline PRestore(p, e, i) {
	d_step { Steers(p) && entry[e].on && entry[e].target < entry[e].granted && Debt(p) == 0 && Heard(p) ->
		next(p, e, entry[e].target + 1); Check() }
}

/* Hear: of a child that has confirmed, any sum since; of one that has not, only more than was known. */
#define Confirms(e, i) (child[i].rev == entry[e].rev)
#define Settled(e, i, s) Max(s, (Confirms(e, i) -> entry[e].target : entry[e].granted))
inline PHear(p, e, i, s) {
	d_step { !PBehind(p) && IsOf(e, i, p) && Read(i, s) && entry[e].granted != Settled(e, i, s) ->
		entry[e].granted = Settled(e, i, s); Stored(p); Check() }
}

/* Renew: Q has grown beyond its cap by a child that came. Its next tenure begins: no older version can settle it. */
#ifdef M_NO_RENEW         /* wrong: P counts a in Q, and hears of Q as it was before a came */
inline Renew() { skip }
#else
inline Renew() {
	if
	:: child[Q].in && entry[QA].granted > tmp && (child[Q].frozen || Sum(1) > child[Q].cap) ->
		child[Q].tenure = NextTenure(Q); child[Q].rev = (child[Q].frozen -> child[Q].rev : 0);
		child[Q].cap = 0; child[Q].frozen = 1; Fresh(Q); forget(PQ, PMAX);
		Witness(W_RENEWED)
	:: else
	fi
}
#endif
#ifdef RESTORE            /* who comes is read live: of a lost time, other versions have the same tenure */
#define Comes(i, s) ((s) == G(i))
#else
#define Comes(i, s) Read(i, s)
#endif
inline PEnter(p, e, i, s) {
	d_step { !PBehind(p) && Room(p) && child[i].in == p + 1 && child[i].rev == 0 && Comes(i, s) &&
			(!entry[e].on || Later(e, i)) && (p == 0 || TRoom(Q)) ->
		tmp = Has(e);
		x = Min(Min(T(i), (entry[e].on -> entry[e].target : 3)), Min(3, s));
		entry[e].on = 1; entry[e].tenure = child[i].tenure; entry[e].granted = s;
		next(p, e, x);
		if :: e == QA -> Renew() :: else fi;
		tmp = 0; x = 0;
		Check() }
}

/* Left: a live read shows a child in a later tenure and in no pool. */
#ifdef M_LEFT_CACHED      /* wrong: a cache shows it leave in the time that is lost */
#define HasLeft(e, i) (Later(e, i) && child[i].in == 0 || i == A && entry[e].on && haunted && ghostIn == 0 && \
	ghostTenure > entry[e].tenure)
#else
#define HasLeft(e, i) (Later(e, i) && child[i].in == 0)
#endif
inline PLeft(p, e, i) { d_step { !PBehind(p) && HasLeft(e, i) -> drop(p, e); Check() } }

/* Moved: a was read in the other pool, in a later tenure, and one live list of pools shows it counted from there up to
 * P, which is above both. Of that P lets go; Q as far as P is not in debt, or Q is above its cap. */
#ifdef M_TENURES          /* wrong: P counts Q, whenever that was */
#define Linked (entry[PQ].on)
#else
#define Linked (entry[PQ].on && entry[PQ].tenure >= child[Q].tenure)
#endif
#ifdef M_AT_ONCE          /* wrong: who stands elsewhere is counted there */
#define CountedQ(t) (true)
#define CountedP(t) (true)
#else
#define CountedQ(t) (entry[QA].on && entry[QA].tenure >= (t) && (!child[Q].in || Linked))
#define CountedP(t) (entry[PA].on && entry[PA].tenure >= (t) && (!child[Q].in || Linked))
#endif
#define WitnessAfter if :: restored && pdone && entry[PA].on + entry[QA].on && member[A].last > 0 && \
	child[A].done && !child[A].frozen -> Witness(W_MOVED_AFTER) :: else fi
inline PMoved(gin, gten) {
	d_step { !PBehind(0) && entry[PA].on && (gin) == 2 && (gten) > entry[PA].tenure && CountedQ(gten) ->
		drop(0, PA);
		if :: InTree(A) && member[A].last > 0 -> Witness(W_LEFT_P) :: else fi;
		Check() }
}
#define Excess (!child[Q].frozen && child[Q].rev == entry[PQ].rev && Sum(1) > child[Q].cap -> Sum(1) - child[Q].cap : 0)
#ifdef M_LEFT_BEHIND      /* wrong: what a leaves behind is free, though P has it granted twice */
#define InDebt 0
#else
#define InDebt (child[Q].in -> Debt(0) : 0)
#endif
inline QMoved(gin, gten) {
	d_step { !PBehind(1) && Room(1) && entry[QA].on && (gin) == 1 && (gten) > entry[QA].tenure && CountedP(gten) &&
			(entry[QA].granted == 0 || Excess > 0 || InDebt < entry[QA].granted) ->
		tmp = Excess; x = InDebt;
		tmp = Max(tmp, entry[QA].granted - Min(entry[QA].granted, x));
		tmp = entry[QA].granted - Min(entry[QA].granted, tmp);
		if
		:: tmp == 0 -> drop(1, QA);
			if :: child[Q].in && member[A].last > 0 -> Witness(W_LEFT_Q) :: else fi;
			WitnessAfter
		:: else -> entry[QA].granted = tmp; tmp = Min(3, tmp); next(1, QA, tmp); Witness(W_KEPT)
		fi;
		tmp = 0; x = 0;
		Check() }
}

#ifdef RESTORE
/* Rebuild: those that stand in the pool, by a live list, may have anything, and confirm anew. Entries of others stay. */
#define Shows(e, i, p) (child[i].in == p + 1 && child[i].rev > 0 && (!IsOf(e, i, p) || child[i].rev > entry[e].rev))
#define PLost(p) (p == 0 -> Shows(PA, A, 0) || Shows(PC, C, 0) || Shows(PQ, Q, 0) : Shows(QA, A, 1) || Shows(QB, B, 1))
#define Stands(i, p) (child[i].in == p + 1 -> child[i].rev : 0)
#define Highest(p) (p == 0 -> Max(Stands(A, 0), Max(Stands(C, 0), Stands(Q, 0))) : Max(Stands(A, 1), Stands(B, 1)))
inline again(p, e, i) {
	if
	:: child[i].in == p + 1 ->
		entry[e].on = 1; entry[e].tenure = child[i].tenure; entry[e].granted = UNKNOWN; entry[e].target = T(i)
	:: else
	fi;
	if
	:: entry[e].on -> entry[e].rev = pool[p].ctr; entry[e].target = Min(entry[e].target, entry[e].granted); keep(e)
	:: else
	fi
}
/* Floor: nothing is taken up that was given before now. */
#ifdef M_FLOOR_TENURE     /* wrong: a pool that has rebuilt earlier offers what the backup said */
#define FloorTenure(i) child[i].tenure
#else
#define FloorTenure(i) NextTenure(i)
#endif
bit stood[4];             /* it stood in a pool when etcd went back */
inline floor(i) {
	if
	:: child[i].in == 0 && child[i].named && (stood[i] || i != Q && member[i].last == 0) ->
		child[i].in = child[i].named; child[i].tenure = NextTenure(i); child[i].rev = 0; child[i].cap = 0; child[i].frozen = 1
	:: else
	fi;
	if
	:: child[i].in ->
		child[i].tenure = FloorTenure(i); child[i].rev = Max(child[i].rev + 1, FLOOR); child[i].cap = 0; child[i].frozen = 1;
#ifndef M_FLOOR_TENURE
		forgetAll(i)
#endif
	:: else
	fi;
	stood[i] = 0
}
inline PRebuild(p) {
	d_step { restored && (PBehind(p) || PLost(p)) && pool[p].ctr < PMAX && Highest(p) < PMAX && (p == 0 || TRoom(Q)) ->
		if :: pool[p].ctr > FLOOR -> Witness(W_REBUILT_TWICE) :: else fi;
		pool[p].ctr = Max(FLOOR, Max(pool[p].ctr, Highest(p))) + 1;
		if
		:: p == 0 -> again(0, PA, A); again(0, PC, C); again(0, PQ, Q); pdone = Max(pdone, known)
		:: p == 1 -> again(1, QA, A); again(1, QB, B); child[Q].done = Max(child[Q].done, known); floor(Q); Fresh(Q)
		fi;
#ifndef M_WAIT_ONCE       /* wrong: some may have forgotten that they stand in it */
		raised[p] = 0;
#endif
		Check() }
}
#endif

/* ============================================ steps of a child towards its pool ================================== */
inline moves(i, to) {
	child[i].in = to; child[i].tenure = NextTenure(i); child[i].rev = 0; child[i].cap = 0; child[i].frozen = (to > 0);
	Fresh(i); forgetAll(i); Check()
}
/* Whoever is below P may go anywhere there with what it has, and whoever comes has nothing. */
inline AAnnounce() {
	d_step { Acts(A) && TRoom(A) && child[A].named && child[A].in != child[A].named &&
			(InTree(A) || child[A].granted == 0 && member[A].last == 0) -> moves(A, child[A].named) }
}
inline ALeave() { d_step { Acts(A) && TRoom(A) && child[A].named == 0 && child[A].in -> moves(A, 0) } }
#define Holds(i) (child[i].in == 2 && (member[i].last || child[i].granted))
inline QAnnounce() {
	d_step { !PBehind(1) && TRoom(Q) && child[Q].named && !child[Q].in && Sum(1) == 0 && !Holds(A) && !Holds(B) ->
		moves(Q, 1) }
}
/* A pool stays in its own while it counts what a child has taken elsewhere. */
#ifdef M_POOL_LEAVES      /* wrong: with its entry goes what is in use elsewhere */
#define Loses (false)
#else
#define Loses (Later(QA, A) && child[A].in == 1)
#endif
inline QLeave() { d_step { !PBehind(1) && TRoom(Q) && !child[Q].named && child[Q].in && !Loses -> moves(Q, 0) } }

#define May(i) (i == Q -> !PBehind(1) : !unheard && !CBehind(i))
inline Take(i, p, e, k) {
	d_step { (k) <= PMAX && May(i) && child[i].in == p + 1 && (k) > child[i].rev && past[At(e, k)].on &&
			past[At(e, k)].tenure == child[i].tenure ->
		child[i].rev = k; child[i].cap = past[At(e, k)].target; child[i].frozen = 0; Fresh(i); forget(e, k); Check() }
}

/* ========================================= steps of a FederatedQuota ============================================= */
#define Cap(i) (child[i].in -> Min(BUDGET, child[i].cap) : BUDGET)
#ifdef RESTORE
#define News(i) member[i].news = (member[i].news || backedUp && !restored)
#define Ahead(i) member[i].ahead = (member[i].ahead || member[i].news && !restored)
#define Ruled(i) (!restored || child[i].done > 0)     /* its members have been told something since */
#else
#define News(i) skip
#define Ahead(i) skip
#define Ruled(i) (true)
#endif
inline telling(i) { member[i].last = Max(member[i].last, child[i].target); member[i].top = member[i].last; Check() }
inline LRaise(i) {
	d_step { Acts(i) && !Frozen(i) && child[i].granted < Cap(i) ->
		child[i].granted++; child[i].target = child[i].granted; Saw(i); News(i); Ahead(i);
#ifdef LOSES
		if :: wiped && i == A && child[A].done -> Witness(W_BEGUN) :: else fi;
#endif
		telling(i) }
}
inline LLower(i) { d_step { Acts(i) && !child[i].frozen && child[i].target > 0 -> child[i].target--; News(i); telling(i) } }
inline LRestore(i) {
	d_step { Acts(i) && !Frozen(i) && child[i].target < child[i].granted && child[i].granted <= Cap(i) ->
		child[i].target++; News(i); Ahead(i); telling(i) }
}
inline LFall(i) {
	d_step { Ruled(i) && !Lost(i) && member[i].last > child[i].target -> member[i].last--; Ahead(i) }
}
inline LHear(i, s) {
	d_step { Acts(i) && member[i].last <= (s) && (s) <= member[i].top && child[i].target <= (s) && child[i].granted != (s) ->
		child[i].granted = s; Saw(i); Check() }
}
#ifdef RESTORE
inline LRebuild(i) {
	d_step { !unheard && (CBehind(i) || Lost(i) && !child[i].in && child[i].named) && TRoom(i) ->
		child[i].done = Max(child[i].done, known);
		if
		:: Lost(i) ->
#ifdef M_REVISION_AT_ONCE /* wrong: it has no entries yet, so it shows that it has nothing */
			child[i].granted = 0; lost[i] = 0;
#endif
			skip
		:: else -> child[i].granted = UNKNOWN; child[i].target = member[i].last; member[i].top = member[i].last
		fi;
		member[i].ahead = 0; member[i].news = 0;
		floor(i); Fresh(i);
		Check() }
}
#endif
#ifdef LOSES
inline Lose(i) {           /* tenures and revisions go on by the clock: above those that were lost */
	d_step { restored && !wiped && child[i].in ->
		wiped = 1; lost[i] = 1; stood[i] = 1;
		child[i].in = 0; child[i].cap = 0; child[i].frozen = 0; child[i].done = 0;
		child[i].granted = UNKNOWN; child[i].target = 0; Fresh(i) }
}
inline LBegin(i) {        /* it takes in its members, and gives revisions from then on */
	d_step { !unheard && !CBehind(i) && lost[i] && child[i].in ->
		lost[i] = 0; child[i].granted = UNKNOWN; child[i].target = member[i].last; member[i].top = member[i].last;
		Saw(i); Check() }
}
#endif

/* ============================================= what else happens ================================================= */
inline Name(i, to) { d_step { child[i].in == child[i].named && child[i].named != (to) -> child[i].named = to } }

#ifdef RESTORE
Child savedChild[4]; Entry savedEntry[5]; Pool savedPool[2];
inline copyChild(to, from) {
	to.named = from.named; to.in = from.in; to.tenure = from.tenure; to.rev = from.rev; to.cap = from.cap;
	to.frozen = from.frozen; to.granted = from.granted; to.target = from.target
}
inline copyEntry(to, from) {
	to.on = from.on; to.granted = from.granted; to.target = from.target; to.rev = from.rev; to.tenure = from.tenure
}
inline forgetChild(c) {
	c.named = 0; c.in = 0; c.tenure = 0; c.rev = 0; c.cap = 0; c.frozen = 0; c.granted = 0; c.target = 0
}
inline forgetEntry(e) { e.on = 0; e.granted = 0; e.target = 0; e.rev = 0; e.tenure = 0 }
inline backUp() {
	copyChild(savedChild[A], child[A]); copyChild(savedChild[B], child[B]); copyChild(savedChild[C], child[C]);
	copyChild(savedChild[Q], child[Q]);
	copyEntry(savedEntry[PA], entry[PA]); copyEntry(savedEntry[QA], entry[QA]); copyEntry(savedEntry[QB], entry[QB]);
	copyEntry(savedEntry[PC], entry[PC]); copyEntry(savedEntry[PQ], entry[PQ]);
	savedPool[0].ctr = pool[0].ctr; savedPool[1].ctr = pool[1].ctr
}
#ifdef BACKUP
inline Backup() { d_step { !backedUp -> backedUp = 1; backUp() } }
#endif
/* What a cache may still show of a: where it stood at some time that is lost. */
#ifdef GHOST
bit haunted; unsigned ghostIn : 2; unsigned ghostTenure : 4;
inline Haunt() {
	d_step { backedUp && !restored && !haunted && child[A].tenure > savedChild[A].tenure ->
		haunted = 1; ghostIn = child[A].in; ghostTenure = child[A].tenure }
}
#endif
/* Not played: that what is in force would be debt by what the backup says, as when a budget is put back into a tree
 * which it had left. */
#define Returns(i) (savedChild[i].in || savedChild[i].named -> member[i].last : 0)
inline Restores(i) {      /* versions of the lost time may have the same tenure and revision */
	stood[i] = (child[i].in && (savedChild[i].in || savedChild[i].named));
	if :: child[i].tenure != savedChild[i].tenure || child[i].rev != savedChild[i].rev -> seen[i] = 0 :: else fi;
	copyChild(child[i], savedChild[i]); forgetChild(savedChild[i])
}
#define RestoresEntry(e) copyEntry(entry[e], savedEntry[e]); forgetEntry(savedEntry[e])
#define keepOn(e, i) if :: entry[e].on && entry[e].rev > child[i].rev -> keep(e) :: else fi
inline PutBack() {
	d_step { backedUp && !restored && Returns(A) + Returns(B) + Returns(C) <= BUDGET ->
		restored = 1; unheard = 1; told = 1;
		Restores(A); Restores(B); Restores(C); Restores(Q);
		RestoresEntry(PA); RestoresEntry(QA); RestoresEntry(QB); RestoresEntry(PC); RestoresEntry(PQ);
		forgetAll(A); forgetAll(B); forgetAll(C); forgetAll(Q);
		keepOn(PA, A); keepOn(QA, A); keepOn(QB, B); keepOn(PC, C); keepOn(PQ, Q);
		Saw(A); Saw(B); Saw(C); Saw(Q);
		pool[0].ctr = savedPool[0].ctr; pool[1].ctr = savedPool[1].ctr; savedPool[0].ctr = 0; savedPool[1].ctr = 0 }
}
#ifdef RESTART
inline Restart() {
	d_step { restored && !restarted -> restarted = 1; told = told && unheard; unheard = 1; known = 0;
		raised[0] = 0; raised[1] = 0 }
}
#endif
#ifdef M_NOT_STORED       /* wrong: the hub manager goes by what members show */
#define Says 0
#else
#define Says Max(Max(pdone, child[Q].done), Max(child[B].done, Max(child[C].done, (child[A].in -> child[A].done : 0))))
#endif
#define AnyAhead (member[A].ahead || member[B].ahead || member[C].ahead)
inline Hear() {
	d_step { unheard -> unheard = 0; known = Says;
		if
		:: told || AnyAhead -> known++; if :: known == 2 -> Witness(W_NOTICED_TWICE) :: else fi
		:: else -> if :: known > 0 && child[C].done == 0 -> Witness(W_STORED) :: else fi
		fi;
		told = 0 }
}
#endif

/* ================================================== scheduling =================================================== */
#define Hears(p, e, i) :: PHear(p, e, i, 0) :: PHear(p, e, i, 1) :: PHear(p, e, i, 2) :: PHear(p, e, i, 3) :: PHear(p, e, i, 7)
#define Enters(p, e, i) :: PEnter(p, e, i, 0) :: PEnter(p, e, i, 1) :: PEnter(p, e, i, 2) :: PEnter(p, e, i, 7)
#define Steps(p, e, i) :: PRaise(p, e, i) :: PLower(p, e, i) :: PRestore(p, e, i) Hears(p, e, i)
#define Takes(i, p, e) :: Take(i, p, e, 1) :: Take(i, p, e, 2) :: Take(i, p, e, 3) :: Take(i, p, e, 4) :: Take(i, p, e, 5) \
	:: Take(i, p, e, 6) :: Take(i, p, e, 7) :: Take(i, p, e, 8) :: Take(i, p, e, 9) :: Take(i, p, e, 10)
#ifdef RESTORE
#define Rebuilds(p) :: PRebuild(p)
#define LRebuilds(i) :: LRebuild(i)
#else
#define Rebuilds(p)
#define LRebuilds(i)
#endif
#ifdef LOSES
#define Loss(i) :: Lose(i) :: LBegin(i)
#else
#define Loss(i)
#endif
#define Ledger(i) :: LRaise(i) :: LLower(i) :: LRestore(i) :: LFall(i) :: LHear(i, 0) :: LHear(i, 1) :: LHear(i, 2) \
	LRebuilds(i) Loss(i)

active proctype P() { started; do
	Steps(0, PA, A) Steps(0, PC, C) Steps(0, PQ, Q) Enters(0, PA, A) Enters(0, PC, C) Enters(0, PQ, Q)
	:: PMoved(child[A].in, child[A].tenure) :: PLeft(0, PA, A) :: PLeft(0, PQ, Q) Rebuilds(0)
#ifdef CACHED              /* who has moved is read from a cache */
	:: PMoved(ghostIn, ghostTenure)
#endif
	od }
active proctype PoolQ() { started; do
	Steps(1, QA, A) Enters(1, QA, A)
#ifndef NO_B
	Steps(1, QB, B) Enters(1, QB, B)
#endif
	:: QMoved(child[A].in, child[A].tenure) :: PLeft(1, QA, A) Rebuilds(1)
#ifdef CACHED              /* who has moved is read from a cache */
	:: QMoved(ghostIn, ghostTenure)
#endif
	Takes(Q, 0, PQ)
#ifdef LEAVES
	:: QAnnounce() :: QLeave()
#endif
	od }
active proctype QuotaA() { started; do
	Takes(A, 0, PA) Takes(A, 1, QA) Ledger(A) :: AAnnounce()
#ifdef LEAVES
	:: ALeave()
#endif
	od }
#ifndef NO_B
active proctype QuotaB() { started; do Takes(B, 1, QB) Ledger(B) od }
#endif
active proctype QuotaC() { started; do Takes(C, 0, PC) Ledger(C) od }
active proctype World() { started; do
#ifndef STILL
	:: Name(A, 1) :: Name(A, 2)
#else
	:: false
#endif
#ifdef LEAVES
	:: Name(A, 0) :: Name(Q, 0) :: Name(Q, 1)
#endif
#ifdef RESTORE
	:: PutBack() :: Hear()
#ifdef RESTART
	:: Restart()
#endif
#ifdef BACKUP
	:: Backup()
#endif
#ifdef GHOST
	:: Haunt()
#endif
#endif
	od }

/* Start: all stand in their pools, and confirmed the first revision there. */
inline stands(p, e, i, y) {
	child[i].named = p + 1; child[i].in = p + 1; child[i].tenure = 1; child[i].rev = 1; child[i].cap = y;
	entry[e].on = 1; entry[e].tenure = 1; entry[e].rev = 1; entry[e].granted = y; entry[e].target = y
}
inline uses(i, y) { child[i].granted = y; child[i].target = y; member[i].last = y; member[i].top = y }
init { d_step { started = 1; raised[0] = 1; raised[1] = 1; pool[0].ctr = 1; pool[1].ctr = 1;
#ifdef GIVES              /* c has everything, and is told to give it back */
	stands(0, PC, C, BUDGET); uses(C, BUDGET); child[C].target = 0; stands(0, PQ, Q, 0);
#else
	stands(0, PC, C, 0); stands(0, PQ, Q, BUDGET - OUTSIDE);
#endif
#ifndef NO_B
	stands(1, QB, B, 0);
#endif
#if defined(JOINS)         /* a is to stand in P */
	child[A].named = 1;
#elif defined(OUTER)      /* a stands in P */
	stands(0, PA, A, HELD);
#else
	stands(1, QA, A, HELD);
#endif
	uses(A, HELD);
#if defined(RESTORE) && !defined(BACKUP)
	backUp();
#endif
	Fresh(A); Fresh(B); Fresh(C); Fresh(Q)
} }
