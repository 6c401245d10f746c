/*
 * The safety protocol of fedquota: one budget, two members, nothing trusted but compare-and-swap and revisions.
 *
 * Two hub leaders work on one ledger at once. In each member the API server arbitrates between agents, admission and
 * the quota controller. One resource name, small whole numbers, every interleaving. README.md says what is left out.
 *
 * How to read it: every step is one d_step, so one line of a trail is one step, and steps bear the names of the code.
 * A step that never happens is a crash, a lost message or a cut-off member. A decision that sits in a leader's copy or
 * in an agent's slot while others act is a write that lands late; one that is overwritten there is lost.
 */

/* ---- scale ---- */
#ifndef BUDGET
#define BUDGET 2          /* units to hand out at the start */
#endif
#ifndef REVISIONS
#define REVISIONS 4       /* ledger revisions in one run: the bound that makes the model finite */
#endif
#ifndef MAX_BUDGET
#define MAX_BUDGET BUDGET /* the budget moves between MIN_BUDGET and MAX_BUDGET */
#endif
#ifndef MIN_BUDGET
#define MIN_BUDGET BUDGET
#endif
/* Switches of the environment, beyond what is always there (see run.sh): NO_DELETE no share is deleted by hand;
 * ONE_AGENT; ROLLBACK the hub loses its ledger once, or gets an old one back; BIRTH with that, or
 * that somebody tears the finalizer off and creates the FederatedQuota again, while member 1 is silent for a while; WIPE the
 * namespace of member 0 is deleted
 * and re-created once; CALM faults, usage and decisions stop at some point. */

#define Max(a, b) ((a) > (b) -> (a) : (b))
#define Min(a, b) ((a) < (b) -> (a) : (b))

/* ---- mutations that need more than one word; all others are one #ifdef at their step ---- */
#ifdef M_CONFIRM_BY_SPEC  /* wrong: without the fence, status.hard goes on admitting what spec.hard no longer allows */
#define NO_FENCE
#define BY_SPEC
#endif
#ifdef M_NO_FENCE         /* wrong: a late patch of status.hard brings an old limit back after the report */
#define NO_FENCE
#endif
#ifdef BY_SPEC
#define InForce(q) (true)
#else
#define InForce(q) (q.spec == q.hard)
#endif
#ifdef M_UNCONDITIONAL    /* wrong: a decision that lands late overwrites a newer one */
#define NO_REVISION_CHECK
#endif
#ifdef M_FRESH_RV         /* wrong: a current resourceVersion proves a current read of the object, not a current decision */
#define NO_REVISION_CHECK
#define RV
#endif

/* ---- the hub: one FederatedQuota ---- */
typedef Entry { unsigned granted : 3; unsigned target : 3; unsigned revision : 4 };
Entry ledger[2];
unsigned counter : 4;     /* status.revision: the last one taken */
unsigned budget : 3 = BUDGET;
#define Granted (ledger[0].granted + ledger[1].granted)

/* A leader keeps nothing but a copy of the ledger: what it would write into the shares (copy[2*l+c]), and whether its
 * copy is still the newest (fresh), which is all that a resourceVersion says. */
typedef Spec { unsigned hard : 3; unsigned revision : 4 };
Spec copy[4];
bit fresh[2];

#ifdef ROLLBACK
Entry saved[2];           /* a backup of the hub's etcd; at first the empty ledger, so that a loss is one of its cases */
unsigned savedCounter : 4;
bit backedUp, rolledBack;
bit known[2] = 1;         /* this entry was rebuilt, or nothing happened to it */
#define Known (known[0] && known[1])
#define Limited(c) (known[c])
#define Room (counter < (rolledBack -> REVISIONS + 3 : REVISIONS))
#else
#define Known (true)
#define Limited(c) (true)
#define Room (counter < REVISIONS)
#endif

#ifdef BIRTH
bit away;                 /* member 1 cannot be reached, from the moment in which the ledger is another one */
bit newborn;              /* this hub manager has watched since before the FederatedQuota was created */
#define Reached(c) (c == 0 || !away)
#define Goes away = 1;
#define WitnessTrust if :: newborn && away -> Witness(W_TRUSTED) :: else fi;
#else
#define Reached(c) (true)
#define Goes
#define WitnessTrust
#endif

/* ---- the members ---- */
typedef Share {           /* QuotaShare */
	bit there;
	unsigned hard : 3; unsigned revision : 4;         /* spec, by the hub */
	unsigned bound : 3; unsigned reported : 4         /* status, by the agent: max(in force, used), at which revision */
};
typedef Quota {           /* ResourceQuota: spec.hard, status.hard, status.used, and the revision annotation */
	unsigned spec : 3; unsigned hard : 3; unsigned used : 3; unsigned revision : 4
};
Share share[2];
Quota quota[2];

/* An agent does one thing at a time and keeps nothing: what it is about to write is its slot. Agents 0 and 2 serve
 * member 0 (two at once), agent 1 serves member 1. */
mtype:phase = { IDLE, PATCH_SPEC, PATCH_STATUS, REPORT };
typedef Slot { mtype:phase phase = IDLE; unsigned value : 3; unsigned revision : 4 };
Slot slot[3];

#ifdef WIPE
/* The namespace's UID. Share and quota die with their namespace, and with them every revision that fences. So a writer
 * names the namespace that it decided for: a leader reads it before it reads the ledger, an agent with the share. */
bit uid, leaderUid[2], agentUid[3];
#define LearnUid(whose, c) whose = (c == 0 -> uid : whose)
#ifdef M_NO_UID           /* wrong: in a namespace that was re-created, the oldest write in flight is as good as any */
#define SameUid(whose, c) (true)
#else
#define SameUid(whose, c) (c == 1 || whose == uid)
#endif
#else
#define LearnUid(whose, c) skip
#define SameUid(whose, c) (true)
#endif

#ifdef CALM
bit calm;                 /* no fault, no decision, no change of usage any more; what is in flight still lands */
#define Stormy (!calm)
#else
#define Stormy (true)
#endif

#ifdef RV
bit seen[3];              /* the agent has read the quota since it last changed, so its resourceVersion is right */
#define Seen(a) (seen[a])
#define Touch(c) seen[c] = 0; seen[(c -> 1 : 2)] = 0
#else
#define Seen(a) (true)
#define Touch(c) skip
#endif

/* ---- properties ---- */

/* What a member can still do: a charge passes admission (status.hard) and the fence (spec.hard), so the limit in
 * force is the lower of the two. status.hard alone does not keep I2: see W_STATUS_ABOVE. */
#ifdef NO_FENCE
#define Limit(c) (quota[c].hard)
#else
#define Limit(c) Min(quota[c].spec, quota[c].hard)
#endif
#define Bound(c) Max(Limit(c), quota[c].used)

/* Settled: every limit is the target, or what is used where that is more, and the ledger knows it. */
#define Settled(c) (quota[c].spec == quota[c].hard && Max(ledger[c].target, quota[c].used) == ledger[c].granted \
	&& quota[c].spec == ledger[c].granted && (ledger[c].revision == 0 || quota[c].revision == ledger[c].revision))

#ifdef ONLY_S1            /* the harm itself: more is in use than there is, with a budget that never moved */
#define Check() assert(quota[0].used + quota[1].used <= BUDGET)
#define I(x) skip
#else
#define Check()                                                                                    \
	assert(!Limited(0) || Bound(0) <= ledger[0].granted);                         /* I2 */        \
	assert(!Limited(1) || Bound(1) <= ledger[1].granted);                                         \
	assert(Bound(0) + Bound(1) <= (MIN_BUDGET < BUDGET -> Max(budget, Granted) : budget)) /* S1 */
#define I(x) assert(x)
#endif

/* Witnesses: states and events that the model must reach, or it proves nothing. Each run asks for one. */
#ifndef WITNESS
#define WITNESS 0
#endif
#define Witness(n) assert(WITNESS != n)
#define W_STALE_LEADER 1  /* a share refuses a leader's older revision */
#define W_STALE_AGENT  2  /* the guard refuses an agent's older revision */
#define W_BELOW_USED   3  /* the guard refuses a limit below usage */
#define W_CAS          4  /* the ledger refuses a leader with an old copy, which reads it again */
#define W_MOVED        5  /* what one member released and settled is granted to the other, which uses it */
#define W_CUT_DEBT     6  /* a budget cut leaves debt while all of it is used */
#define W_CUT_PAID     7  /* and the debt is paid */
#define W_RESURRECTED  8  /* a deleted share comes back at a revision older than the one in force */
#define W_FENCED       9  /* the fence alone refuses a charge: status.hard would have admitted it */
#define W_STATUS_ABOVE 10 /* status.hard above granted: why in force means the lower of the two */
#define W_FOLLOW       11 /* settled above the target, because more than the target is in use */
#define W_FALSE_DEBT   12 /* an older report of the same revision lands late and undoes a settlement: costs a round, harms nobody */

#define W_REBUILT      13 /* a lost ledger is rebuilt */
#define W_RAISED_AGAIN 14 /* and somebody is raised out of the rebuilt ledger */
#define W_GONE         15 /* a member leaves and what it had is granted to the other */
#define W_WIPED        16 /* a namespace is re-created, and its member gets its share again and uses it */
#define W_TRUSTED      18 /* the others are raised out of a new budget while a member is silent */
#define W_SETTLED      17 /* in the calm everything settles, with something granted */

/* ---- hub steps: a ledger write is one compare-and-swap, and leaves the other leader's copy stale ---- */

#ifdef M_NO_CAS           /* wrong: two leaders spend the same free units */
unsigned freeAtRead0 : 3, freeAtRead1 : 3;
#define Cas(l) (Known)
#define Free(l) (l -> freeAtRead1 : freeAtRead0)
#else
#define Cas(l) (fresh[l] && Known)
#define Free(l) (budget - Granted)
#endif

inline next(c, t) { counter++; ledger[c].target = t; ledger[c].revision = counter }

inline commit(l, c) {
	fresh[1 - l] = 0;
	copy[2*l + c].hard = ledger[c].target; copy[2*l + c].revision = ledger[c].revision;
	Check()
}

inline Read(l) {
	d_step { !fresh[l] ->
		if
		:: copy[2*l].revision > 0 && copy[2*l].revision < ledger[0].revision -> Witness(W_CAS)
		:: else
		fi;
		fresh[l] = 1;
		LearnUid(leaderUid[l], 0);
		copy[2*l].hard = ledger[0].target; copy[2*l].revision = ledger[0].revision;
		copy[2*l + 1].hard = ledger[1].target; copy[2*l + 1].revision = ledger[1].revision;
#ifdef M_NO_CAS
		if :: l == 0 -> freeAtRead0 = budget - Granted :: else -> freeAtRead1 = budget - Granted fi;
#endif
	}
}

#ifdef ROLLBACK
#define WitnessRaise(c) if :: rolledBack -> Witness(W_RAISED_AGAIN) :: else fi
#else
#define WitnessRaise(c) if :: quota[1 - c].revision > 0 && ledger[1 - c].revision == 0 -> Witness(W_GONE) :: else fi
#endif

inline Raise(l, c, x) {
	d_step { Stormy && Cas(l) && Room && Reached(c) && Granted <= budget && x <= Free(l) ->
#ifdef M_SHARE_FIRST      /* wrong: when the compare-and-swap then fails, the ledger does not know what the member was told */
		if
		:: share[c].revision <= counter ->
			share[c].there = 1; share[c].hard = ledger[c].granted + x; share[c].revision = counter + 1
		:: else ->
#endif
		ledger[c].granted = ledger[c].granted + x;
		next(c, ledger[c].granted);
		I(Granted <= budget);                                                         /* I1 */
		WitnessTrust
		WitnessRaise(c);
		commit(l, c)
#ifdef M_SHARE_FIRST
		fi
#endif
	}
}

/* Restore gives back what was not released yet. It needs the absence of debt: in debt, granted may be an assumption (a
 * rebuild), or an older report's (W_FALSE_DEBT), and the others were granted the rest. */
#ifdef M_RESTORE_IN_DEBT  /* wrong: "it was never released" is more than the ledger knows */
#define NoDebt (true)
#else
#define NoDebt (Granted <= budget)
#endif
inline Restore(l, c, t) {
	d_step { Stormy && Cas(l) && Room && ledger[c].target < t && t <= ledger[c].granted && NoDebt ->
		next(c, t);
		commit(l, c)
	}
}

inline Lower(l, c, t) {
	d_step { Stormy && Cas(l) && Room && t < ledger[c].target ->
#ifdef M_ALREADY_THERE    /* wrong: an older, higher decision may still be on its way, and nothing new fences it off */
		if
		:: share[c].there && share[c].bound == t -> ledger[c].target = t; ledger[c].granted = t
		:: else -> next(c, t)
		fi;
#else
		next(c, t);
#endif
#ifdef M_FREE_AT_DECISION /* wrong: until it confirms, the member admits up to its old limit */
		ledger[c].granted = t;
#endif
		commit(l, c)
	}
}

inline Hear(l, c) {
	d_step { Cas(l) && Reached(c) && share[c].there && share[c].reported == ledger[c].revision && share[c].bound != ledger[c].granted ->
#ifdef M_IGNORE_USED      /* wrong: what runs above the target still runs */
		ledger[c].granted = ledger[c].target;
#else
		if
		:: share[c].bound > ledger[c].granted -> Witness(W_FALSE_DEBT)
		:: Granted > budget && Granted - ledger[c].granted + share[c].bound <= budget -> Witness(W_CUT_PAID)
		:: else -> if :: share[c].bound > ledger[c].target -> Witness(W_FOLLOW) :: else fi
		fi;
		ledger[c].granted = share[c].bound;
#endif
		commit(l, c)
	}
}

/* The entry goes when nothing is granted any more and the member says that its share is gone. */
inline Gone(l, c) {
#ifdef M_GONE_NOT_FOUND   /* wrong: a share that is not found may have been deleted by hand; its limit is still in force */
	d_step { Cas(l) && Reached(c) && ledger[c].revision > 0 && !share[c].there ->
#else
	d_step { Cas(l) && Reached(c) && ledger[c].revision > 0 && !share[c].there && ledger[c].granted == 0 ->
#endif
		ledger[c].granted = 0; ledger[c].target = 0; ledger[c].revision = 0;
		commit(l, c)
	}
}

#ifdef ROLLBACK
/* Rebuild: the ledger that is left proves nothing, and neither does what a member says now, for writes of the lost
 * ledger may still be on their way to it. So the member counts with the whole budget, until it has confirmed a revision
 * that no write of the lost ledger can have: the counter jumps. Nobody is raised before: the sum is above the budget. */
#ifdef M_REBUILD_ON_MEETING /* wrong: whoever was not met yet may hold what the ledger forgot, and others are raised */
#undef Known
#define Known (true)
#undef Limited
#define Limited(c) (share[c].revision <= ledger[c].revision)
#define Rebuilds(l, c) (share[c].revision > ledger[c].revision)
#else
#define Rebuilds(l, c) (!known[c])
#endif
inline Rebuild(l, c) {
	d_step { fresh[l] && Room && Reached(c) && Rebuilds(l, c) ->
		known[c] = 1;
#if defined(M_REBUILD_IN_FORCE) || defined(M_REBUILD_ON_MEETING) /* wrong: the share may say more than is in force yet */
		ledger[c].granted = Max(ledger[c].granted, share[c].bound);
		counter = Max(counter, Max(share[0].revision, share[1].revision));
#elif defined(M_REBUILD_SEEN) /* wrong: a write of the lost ledger may land after the member was read */
		ledger[c].granted = Max(ledger[c].granted, Max(share[c].hard, share[c].bound));
		counter = Max(counter, Max(share[0].revision, share[1].revision));
#elif defined(M_REBUILD_NO_JUMP) /* wrong: that write may also bear the very revision that is taken now */
		ledger[c].granted = BUDGET;
		counter = Max(counter, Max(share[0].revision, share[1].revision));
#else
		ledger[c].granted = BUDGET;
		counter = Max(counter, REVISIONS);
#endif
		next(c, share[c].hard);
		ledger[c].target = Min(ledger[c].target, ledger[c].granted);
		Witness(W_REBUILT);
		commit(l, c)
	}
}
#else
#define Rebuild(l, c) false
#endif

#ifdef BIRTH
/* Trust takes a silent member to hold nothing of a budget that is new, as long as the one that answers has no share
 * that this ledger has not given. */
#ifdef M_TRUST_STORED     /* wrong: a store that went back to the birth says the same */
#define Newborn (true)
#else
#define Newborn (newborn)
#endif
#ifdef M_TRUST_BLINDLY    /* wrong: the finalizer of one of the same name may have been torn off */
#define Stranger (false)
#else
#define Stranger (share[0].there && ledger[0].revision == 0)
#endif
inline Trust(l) {
	d_step { fresh[l] && away && !known[1] && Newborn && !Stranger && ledger[0].revision == 0 ->
		known[1] = 1;
		commit(l, 1)
	}
}

/* Tear: once, somebody tears the finalizer off and creates the FederatedQuota again, or it is the first one. Where only
 * the silent member knows of the old one, nothing shows it: that is left out, as in docs/limits.md. */
inline Tear() {
	d_step { !rolledBack && (counter == 0 || share[0].there) ->
		rolledBack = 1; newborn = 1; known[0] = 0; known[1] = 0; fresh[0] = 0; fresh[1] = 0; away = 1;
		ledger[0].granted = 0; ledger[0].target = 0; ledger[0].revision = 0;
		ledger[1].granted = 0; ledger[1].target = 0; ledger[1].revision = 0
	}
}

inline Return() { d_step { away -> away = 0 } }
#else
#define Trust(l) false
#endif

/* lost(c): a member that does not answer keeps what it was granted, so there is nothing to do. */
#ifdef M_TIMEOUT_RELEASES /* wrong: who does not answer may still run, and charge, all that it was granted */
inline Lost(l, c) { d_step { Cas(l) && ledger[c].target < ledger[c].granted -> ledger[c].granted = ledger[c].target; commit(l, c) } }
#else
#define Lost(l, c) false
#endif

/* Deliver writes the share out of the leader's copy, however old. The share's CEL rule refuses an older revision, and
 * another limit at the same revision. A missing share is created, and then nothing compares. */
#if defined(NO_REVISION_CHECK) || defined(M_NO_CEL) /* wrong: an older leader overwrites a newer one's share (I4) */
#define Rule(l, c) (true)
#else
#define Rule(l, c) (!share[c].there || copy[2*l + c].revision > share[c].revision)
#endif

inline Deliver(l, c) {
	d_step { Reached(c) && copy[2*l + c].revision != share[c].revision && (copy[2*l + c].revision > 0) && SameUid(leaderUid[l], c) && (Stormy || Rule(l, c)) ->
		if
		:: Rule(l, c) ->
			I(copy[2*l + c].revision >= share[c].revision);                       /* I4 */
			if
			:: copy[2*l + c].revision < quota[c].revision -> Witness(W_RESURRECTED)
			:: else
			fi;
			share[c].there = 1; share[c].hard = copy[2*l + c].hard; share[c].revision = copy[2*l + c].revision
		:: else -> Witness(W_STALE_LEADER)
		fi
	}
}


/* ---- agent steps ---- */

/* Enforce decides: what the share says, or what is used where that is more; at the revision in force only downwards. */
inline Enforce(a, c) {
	d_step { share[c].there && (Stormy || slot[a].phase == IDLE) && (share[c].revision > quota[c].revision
			|| share[c].revision == quota[c].revision && Max(share[c].hard, quota[c].used) < quota[c].spec) ->
		slot[a].phase = PATCH_SPEC; slot[a].value = Max(share[c].hard, quota[c].used); slot[a].revision = share[c].revision;
		LearnUid(agentUid[a], c)
	}
}

/* Guard judges the patch of spec.hard and the revision annotation when it lands. */
#ifdef NO_REVISION_CHECK
#define Newer(a, c) (true)
#elif defined(M_RAISE_IN_REVISION) /* wrong: the other agent's older, higher decision of the same revision comes back */
#define Newer(a, c) (slot[a].revision >= quota[c].revision)
#else
#define Newer(a, c) (slot[a].revision > quota[c].revision || slot[a].revision == quota[c].revision && slot[a].value <= quota[c].spec)
#endif
#ifdef M_BELOW_USED       /* wrong: hurts nothing that runs, yet the limit is below usage (I3) */
#define AboveUsed(a, c) (true)
#else
#define AboveUsed(a, c) (slot[a].value >= quota[c].spec || slot[a].value >= quota[c].used)
#endif

#ifdef RV
inline Get(a) { d_step { slot[a].phase == PATCH_SPEC && !seen[a] -> seen[a] = 1 } }
#else
#define Get(a) false
#endif

inline idle(a) { slot[a].phase = IDLE; slot[a].value = 0; slot[a].revision = 0 }

inline Guard(a, c) {
	d_step { slot[a].phase == PATCH_SPEC && Seen(a) && SameUid(agentUid[a], c) ->
		if
		:: !Newer(a, c) -> Witness(W_STALE_AGENT); idle(a)
		:: Newer(a, c) && !AboveUsed(a, c) -> Witness(W_BELOW_USED); idle(a)
		:: else ->
			I(slot[a].revision >= quota[c].revision);                             /* I4 */
			I(slot[a].value >= quota[c].spec || slot[a].value >= quota[c].used);  /* I3 */
			quota[c].spec = slot[a].value;
			quota[c].revision = slot[a].revision;
			Touch(c);
			slot[a].phase = PATCH_STATUS; slot[a].revision = 0;
			Check()
		fi
	}
}

/* The agent's own patch of status.hard carries no condition at all, so it may land arbitrarily late. With one (STATUS_CAS:
 * only while spec.hard is still the value; a resourceVersion says more), I2 holds of status.hard alone, without a fence. */
#ifdef STATUS_CAS
#define MayPatch(a, c) (slot[a].value == quota[c].spec)
#else
#define MayPatch(a, c) (true)
#endif
inline PatchStatus(a, c) {
	d_step { slot[a].phase == PATCH_STATUS && MayPatch(a, c) ->
		quota[c].hard = slot[a].value;
		Touch(c);
		idle(a);
		if
		:: quota[c].hard > ledger[c].granted -> Witness(W_STATUS_ABOVE)
		:: else
		fi;
		Check()
	}
}

/* Report reads the quota once; what it read lands in the share's status later, and unconditionally. */
inline Report(a, c) {
	d_step { share[c].there && share[c].revision > 0 && quota[c].revision == share[c].revision && InForce(quota[c]) &&
			(Stormy || slot[a].phase == IDLE && (share[c].reported != share[c].revision || share[c].bound != Max(quota[c].spec, quota[c].used))) ->
		slot[a].phase = REPORT; slot[a].value = Max(quota[c].spec, quota[c].used); slot[a].revision = quota[c].revision
	}
}

inline ReportLands(a, c) {
	d_step { slot[a].phase == REPORT ->
		if
		:: share[c].there -> share[c].bound = slot[a].value; share[c].reported = slot[a].revision
		:: else
		fi;
		idle(a)
	}
}

/* ---- the member's own steps ---- */

#ifdef NO_FENCE
#define Fence(c) (true)
#else
#define Fence(c) (quota[c].used < quota[c].spec)
#endif

inline Charge(c) {        /* admission: compare-and-swap on the object that it judged by status.hard */
	d_step { Stormy && quota[c].used < quota[c].hard ->
		if
		:: Fence(c) ->
			quota[c].used++; Touch(c);
			if
#ifdef WIPE
			:: c == 0 && uid == 1 -> Witness(W_WIPED)
#endif
			:: c == 1 && quota[1].used == BUDGET && ledger[0].revision > 0 && ledger[0].target == 0 -> Witness(W_MOVED)
			:: else
			fi;
			Check()
		:: else -> Witness(W_FENCED)
		fi
	}
}

inline Fall(c) { d_step { Stormy && quota[c].used > 0 -> quota[c].used--; Touch(c) } }

inline Sync(c) {          /* the quota controller, when it wins its race; it may also never run */
#ifdef M_NO_CONTROLLER    /* stopped for good: safe, but a late PatchStatus is never repaired, and nothing settles (I5) */
	false
#else
	d_step { quota[c].hard != quota[c].spec -> quota[c].hard = quota[c].spec; Touch(c); Check() }
#endif
}

inline DeleteShare(c) {   /* by hand: the share's revision is forgotten with it */
	d_step { Stormy && share[c].there ->
		share[c].there = 0; share[c].hard = 0; share[c].revision = 0; share[c].bound = 0; share[c].reported = 0
	}
}

/* ---- what happens to the whole ---- */

/* The budget changes: a write of the same object as the ledger's, so every copy goes stale. */
inline Rise() { d_step { Stormy && budget < MAX_BUDGET -> budget++; fresh[0] = 0; fresh[1] = 0 } }

inline Cut() {
	d_step { Stormy && budget > MIN_BUDGET ->
		budget--; fresh[0] = 0; fresh[1] = 0;
		if
		:: Granted > budget && quota[0].used + quota[1].used == Granted -> Witness(W_CUT_DEBT)
		:: else
		fi
	}
}

#ifdef ROLLBACK
inline copyEntry(to, from) { to.granted = from.granted; to.target = from.target; to.revision = from.revision }

inline Backup() {
	d_step { !backedUp && !rolledBack ->
		backedUp = 1;
		copyEntry(saved[0], ledger[0]); copyEntry(saved[1], ledger[1]); savedCounter = counter
	}
}

inline Lose() {           /* once: the hub comes back with the backup, and knows that it does (declared by who restored it) */
	d_step { !rolledBack ->
		rolledBack = 1; known[0] = 0; known[1] = 0; fresh[0] = 0; fresh[1] = 0; Goes
		copyEntry(ledger[0], saved[0]); copyEntry(ledger[1], saved[1]); counter = savedCounter
	}
}
#endif

#ifdef WIPE
inline Wipe() {
	d_step { uid == 0 ->
		uid = 1;
		share[0].there = 0; share[0].hard = 0; share[0].revision = 0; share[0].bound = 0; share[0].reported = 0;
		quota[0].spec = 0; quota[0].hard = 0; quota[0].used = 0; quota[0].revision = 0
	}
}
#endif

#ifdef CALM
inline Calm() { d_step { !calm -> calm = 1 } }
#endif

/* ---- everything at once ---- */

#define Ledger(l, c) \
	:: Raise(l, c, 1) :: Raise(l, c, 2) :: Lower(l, c, 0) :: Lower(l, c, 1) :: Restore(l, c, 1) :: Restore(l, c, 2) \
	:: Hear(l, c) :: Gone(l, c) :: Rebuild(l, c) :: Trust(l) :: Lost(l, c) :: Deliver(l, c)

#ifdef NO_DELETE
#define Member(c) :: Charge(c) :: Fall(c) :: Sync(c)
#else
#define Member(c) :: Charge(c) :: Fall(c) :: Sync(c) :: DeleteShare(c)
#endif

#define Agent(a, c) :: Enforce(a, c) :: Guard(a, c) :: PatchStatus(a, c) :: Report(a, c) :: ReportLands(a, c) :: Get(a)

active proctype Leader0() { do :: Read(0) Ledger(0, 0) Ledger(0, 1) od }
#ifndef ONE_LEADER
active proctype Leader1() { do :: Read(1) Ledger(1, 0) Ledger(1, 1) od }
#endif
active proctype Agent0()  { do Agent(0, 0) od }
active proctype Agent1()  { do Agent(1, 1) od }
#ifndef ONE_AGENT
active proctype Agent2()  { do Agent(2, 0) od }
#endif
active proctype World() {
	do
	Member(0) Member(1) :: Rise() :: Cut()
#ifdef ROLLBACK
	:: Lose()
#ifdef BIRTH
	:: Tear() :: Return()
#endif
#ifdef BACKUP
	:: Backup()
#endif
#endif
#ifdef WIPE
	:: Wipe()
#endif
#ifdef CALM
	:: Calm()
	:: timeout ->             /* nothing is left to do, by anybody */
		I(Settled(0) && Settled(1));                                                  /* I5 */
		if
		:: ledger[0].granted > 0 && ledger[1].granted > 0 -> Witness(W_SETTLED)
		:: else
		fi;
		break
#endif
	od
}

#ifdef CALM_ENDS          /* I5, the other half: in the calm nothing goes round in circles, whoever is scheduled */
never {
	do
	:: true
	:: calm -> break
	od;
accept:
	do
	:: calm
	od
}
#endif
