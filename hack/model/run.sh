#!/usr/bin/env bash
# Check the protocol's model with Spin: the right protocol must have no error, every mutation must break, and every
# witness must be reachable. `run.sh NAME` checks the rows with that in their names; of one row it prints the trail.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")"
if ! command -v spin >/dev/null; then
	echo "model: skipped, spin is not installed (apt-get install spin)"
	exit 0
fi

# name | what must be found: "-" for no error, else a part of the assertion | switches of the model | of the compiler |
# the model. What is found at all is found breadth first (-DBFS), so its trail is the shortest.
S1='quota[0].used+quota[1].used' SMALL='-DONE_AGENT -DNO_DELETE'
rows() {
	quota_rows | sed 's/$/|fedquota.pml/'
	pool_rows | sed 's/$/|pool.pml/'
	move_rows | sed 's/$/|moves.pml/'
}

quota_rows() {
	cat <<-END
		right: four revisions, no deletion|-|-DREVISIONS=4 -DNO_DELETE|
		right: ledger lost|-|-DREVISIONS=2 -DROLLBACK $SMALL|
		right: ledger rolled back to a backup|-|-DREVISIONS=1 -DROLLBACK -DBACKUP $SMALL|
		right: a new budget, and a silent member|-|-DREVISIONS=1 -DROLLBACK -DBIRTH $SMALL|
		right: everything at once|-|-DREVISIONS=3|
		right: the budget moves|-|-DREVISIONS=3 $SMALL -DMIN_BUDGET=1 -DMAX_BUDGET=3|
		right: namespace re-created|-|-DREVISIONS=2 -DWIPE|
		right: the same, three revisions|-|-DREVISIONS=3 -DWIPE $SMALL|
		right: settles in the calm|-|-DREVISIONS=2 -DCALM|
		right: the calm has no cycle|-|-DREVISIONS=2 -DCALM -DCALM_ENDS|-DNOSTUTTER
		spare: the rule on shares (S1 alone)|-|-DREVISIONS=3 -DM_NO_CEL -DONLY_S1 -DNO_DELETE|
		spare: the fence, given STATUS_CAS|-|-DREVISIONS=3 -DM_NO_FENCE -DSTATUS_CAS -DNO_DELETE|
		spare: status.hard, given the fence|-|-DREVISIONS=3 -DBY_SPEC -DNO_DELETE|
	END
	# Minutes and 2 GiB by hash compaction, that is with a vanishing chance to miss a state.
	[[ -z ${FULL:-} ]] || echo "right: everything, four revisions|-|-DREVISIONS=4|-DHC4"
	local m
	for m in FREE_AT_DECISION CONFIRM_BY_SPEC NO_FENCE IGNORE_USED TIMEOUT_RELEASES SHARE_FIRST UNCONDITIONAL \
		ALREADY_THERE NO_CAS RAISE_IN_REVISION GONE_NOT_FOUND; do
		echo "$m|$S1|-DREVISIONS=3 -DM_$m -DONLY_S1|-DBFS"
	done
	echo "FRESH_RV|$S1|-DREVISIONS=3 -DM_FRESH_RV -DONLY_S1 -DNO_DELETE|-DBFS"
	echo "RESTORE_IN_DEBT|$S1|-DREVISIONS=4 -DM_RESTORE_IN_DEBT -DONLY_S1 -DONE_LEADER -DNO_DELETE|-DBFS"
	for m in REBUILD_IN_FORCE REBUILD_SEEN RESTORE_IN_DEBT; do
		echo "$m (lost ledger)|$S1|-DREVISIONS=1 -DM_$m -DONLY_S1 -DROLLBACK $SMALL|-DBFS"
	done
	echo "REBUILD_ON_MEETING (lost ledger)|$S1|-DREVISIONS=2 -DM_REBUILD_ON_MEETING -DONLY_S1 -DROLLBACK -DONE_LEADER $SMALL|-DBFS"
	echo "REBUILD_NO_JUMP (lost ledger)|$S1|-DREVISIONS=2 -DM_REBUILD_NO_JUMP -DONLY_S1 -DROLLBACK $SMALL|-DBFS"
	for m in TRUST_BLINDLY TRUST_STORED; do
		echo "$m (silent member)|$S1|-DREVISIONS=2 -DM_$m -DONLY_S1 -DROLLBACK -DBIRTH $SMALL|-DBFS"
	done
	echo "NO_UID (namespace re-created)|$S1|-DREVISIONS=3 -DM_NO_UID -DONLY_S1 -DWIPE $SMALL|-DBFS"
	echo "BELOW_USED|.value>=quota|-DREVISIONS=3 -DM_BELOW_USED|-DBFS"
	echo "NO_CEL|.revision>=share|-DREVISIONS=3 -DM_NO_CEL|-DBFS"
	echo "NO_CONTROLLER|ledger[0].target|-DREVISIONS=2 -DM_NO_CONTROLLER -DCALM|-DBFS"
	local n=0 w
	for w in STALE_LEADER STALE_AGENT BELOW_USED CAS MOVED CUT_DEBT CUT_PAID RESURRECTED FENCED STATUS_ABOVE FOLLOW \
		FALSE_DEBT REBUILT RAISED_AGAIN GONE WIPED SETTLED TRUSTED; do
		n=$((n + 1))
		local flags="-DREVISIONS=3"
		case $w in
			CUT_*) flags="-DREVISIONS=2 -DMIN_BUDGET=1 $SMALL" ;;
			REBUILT | RAISED_AGAIN) flags="-DREVISIONS=1 -DROLLBACK $SMALL" ;;
			TRUSTED) flags="-DREVISIONS=1 -DROLLBACK -DBIRTH $SMALL" ;;
			WIPED) flags="-DREVISIONS=2 -DWIPE $SMALL" ;;
			SETTLED) flags="-DREVISIONS=2 -DCALM" ;;
		esac
		echo "reached: $w|($n!=$n)|$flags -DWITNESS=W_$w|-DBFS"
	done
}

# A pool above two FederatedQuotas, or (tree) above one and a pool that has two. Mutations are built without
# optimization: that takes longer than they run.
pool_rows() {
	local s='-DREVS=3 -DMREVS=2' in_use='.used' m
	local moves="$s -DMOVES" remade="$s -DMOVES -DREMAKE -DTENS=1" reborn="$s -DMOVES -DREBORN -DTENS=2"
	local comes='-DMOVES -DJOINS -DCOMES' lost='-DREVS=2 -DMREVS=2 -DLOST'
	local restored='-DRESTORE -DREVS=2 -DMREVS=1' calm='-DCALM -DREVS=2 -DMREVS=1'
	cat <<-END
		pools: four revisions|-|-DREVS=4 -DMREVS=4|
		pools: debt, paid, and raised again|-|-DREVS=4 -DMREVS=3 -DMINB=1|
		pools: budgets move at both levels|-|$s -DMINB=1 -DMAXB=3 -DHARDCUT|
		pools: offers|-|-DREVS=4 -DMREVS=3 -DOFFER|
		pools: late reports at both levels|-|-DREVS=4 -DMREVS=3 -DLATE|
		pools: late, and the budget moves|-|$s -DLATE -DMINB=1|
		pools: late, joins and leaves|-|$moves -DLATE -DJOINS -DTENS=3|
		pools: offers, joins and leaves|-|$moves -DOFFER -DJOINS -DTENS=3|
		pools: a child re-created|-|$s -DMOVES -DREMAKE -DTENS=2|
		pools: late, a pool re-created|-|$reborn -DLATE|
		pools: re-created, and a child comes|-|$reborn $comes|
		pools: ledger lost|-|$s -DLOST|
		pools: lost, and a child comes|-|$lost $comes -DTENS=1|
		pools: late, restored to a backup|-|-DRESTORE -DREVS=1 -DMREVS=2 -DBACKUP -DLATE|
		pools: restored, epochs apart|-|$restored -DREVS=1 -DBACKUP -DAPART=3|
		pools: restored, an epoch is met|-|$restored -DREVS=1 -DBACKUP -DAPART=2|
		pools: restored, room had moved|-|-DRESTORE -DREVS=3 -DMREVS=1 -DBACKUP -DBUDGET=1|
		pools: settles in the calm|-|$calm -DREVS=3 -DMREVS=2|
		pools: debt settles in the calm|-|$calm -DMREVS=2 -DMINB=1|
		pools: joins settle in the calm|-|$calm -DMOVES -DTENS=2|
		pools: the calm has no cycle|-|$calm -DCALM_ENDS|-DNOSTUTTER
		tree: three revisions, budget moves|-|-DTREE -DREVS=3 -DMINB=1|
		tree: a pool joins and leaves|-|-DTREE -DREVS=2 -DMOVES -DJOINS -DTENS=3|
		tree: late at all three levels|-|-DTREE -DREVS=3 -DLATE -DMINB=1|
		tree: offers|-|-DTREE -DREVS=3 -DOFFER|
		tree: settles in the calm|-|-DTREE -DREVS=2 -DCALM -DMINB=1|
		tree: the calm has no cycle|-|-DTREE -DREVS=1 -DCALM -DCALM_ENDS|-DNOSTUTTER
	END
	[[ -z ${FULL:-} ]] || cat <<-END
		pools: budget between one and three|-|-DREVS=4 -DMREVS=3 -DMINB=1 -DMAXB=3|
		pools: restored, two revisions|-|$restored -DBACKUP -DNO_FALL|
		tree: four revisions|-|-DTREE -DREVS=4|
		tree: late, a pool joins and leaves|-|-DTREE -DREVS=2 -DLATE -DMOVES -DJOINS -DTENS=3|
	END
	for m in SETTLE_SUM SETTLE_TARGET CAP_GRANTED FREE_AT_LOWER NO_FENCE SETTLE_ANY NO_REV_CHECK NO_CHILD_CAS \
		NO_POOL_CAS CHILD_FIRST TIMEOUT; do
		echo "$m (pools)|$in_use|$s -DM_$m -DONLY_S1|-DBFS -O0"
	done
	for m in REV_APART RESTORE_IN_DEBT; do
		echo "$m (pools)|$in_use|-DM_$m -DONLY_S1|-DBFS -O0"
	done
	echo "CHILD_RESTORES_IN_DEBT (pools)|$in_use|-DLATE -DM_CHILD_RESTORES_IN_DEBT -DONLY_S1|-DBFS -O0"
	echo "OFFER_REREAD (pools)|$in_use|$s -DM_OFFER_REREAD -DONLY_S1 -DOFFER|-DBFS -O0"
	for m in JOIN_UNFROZEN JOIN_ZERO; do
		echo "$m (pools)|$in_use|$moves -DM_$m -DONLY_S1 -DJOINS|-DBFS -O0"
	done
	echo "LEAVE_AT_SPEC (pools)|$in_use|$moves -DM_LEAVE_AT_SPEC -DONLY_S1 -DTENS=2|-DBFS -O0"
	echo "NO_TENURE (pools)|$in_use|$moves -DM_NO_TENURE -DONLY_S1 -DTENS=3|-DBFS -O0"
	for m in GONE_CACHED NO_CHILD_UID UID_GONE_CACHED; do
		echo "$m (child re-created)|$in_use|$remade -DM_$m -DONLY_S1|-DBFS -O0"
	done
	for m in NO_WAIT NO_UID UID_CACHED; do
		echo "$m (pool re-created)|$in_use|$reborn -DM_$m -DONLY_S1|-DBFS -O0"
	done
	echo "WAIT_CACHED (pool re-created)|$in_use|$reborn $comes -DM_WAIT_CACHED -DONLY_S1|-DBFS -O0"
	for m in REBUILD_SEEN REBUILD_NO_JUMP; do
		echo "$m (pool's ledger lost)|$in_use|$lost -DM_$m -DONLY_S1|-DBFS -O0"
	done
	echo "REBUILD_CACHED (pool's ledger lost)|$in_use|$lost $comes -DTENS=1 -DM_REBUILD_CACHED -DONLY_S1|-DBFS -O0"
	for m in NO_FLOOR POOL_TRUSTS CHILD_TRUSTS; do
		echo "$m (restored)|$in_use|-DRESTORE -DREVS=1 -DMREVS=1 -DMORE=3 -DM_$m -DONLY_S1|-DBFS -O0"
	done
	for m in SETTLE_TARGET SETTLE_SUM RESTORE_IN_DEBT CAP_IGNORED; do
		echo "$m (tree)|.granted|-DTREE -DREVS=3 -DM_$m -DONLY_S1|-DBFS -O0"
	done
	echo "CHILD_RESTORES_IN_DEBT (tree, late)|.last|-DTREE -DREVS=3 -DLATE -DM_CHILD_RESTORES_IN_DEBT -DONLY_S1|-DBFS"
	for m in KEEPS_SUM CHILD_KEEPS; do
		echo "$m (calm)|want|$calm -DM_$m|-DBFS -O0"
	done
	echo "DEBT_STOPS_LOWER (calm)|want|$calm -DM_DEBT_STOPS_LOWER -DMINB=1|-DBFS -O0"
	echo "KEEPS_SUM (tree, calm)|want|-DTREE -DREVS=2 -DCALM -DM_KEEPS_SUM|-DBFS -O0"
	local n=0 w flags
	for w in MOVED CUT_DEBT CUT_PAID JOIN_DEBT LEFT REJOINED RENEWED REBUILT STALE OFFERED FALSE_DEBT REMADE MET \
		RAISED_AGAIN TWICE_LATE PASSED_ON PASSED_DOWN LOST_TAKEN DEBT_BELOW REBUILT_TWICE; do
		n=$((n + 1)) flags=$s
		case $w in
			CUT_*) flags="-DREVS=4 -DMREVS=3 -DMINB=1" ;;
			JOIN_DEBT | LEFT | REJOINED) flags="$moves -DTENS=3" ;;
			REMADE) flags=$remade ;;
			RENEWED) flags=$reborn ;;
			REBUILT) flags="$s -DLOST" ;;
			REBUILT_TWICE) flags='-DRESTORE -DREVS=1 -DMREVS=1 -DAPART=3' ;;
			LOST_TAKEN) flags='-DRESTORE -DREVS=1 -DMREVS=1' ;;
			OFFERED) flags="$s -DOFFER" ;;
			RAISED_AGAIN) flags="-DREVS=3 -DMREVS=3" ;;
			DEBT_BELOW) flags="-DTREE -DREVS=3 -DLATE" ;;
			MET) flags=$calm ;;
			TWICE_LATE) flags="-DREVS=4 -DMREVS=3 -DLATE" ;;
			PASSED_*) flags="-DTREE -DREVS=3 -DBUDGET=1" ;;
		esac
		echo "reached: $w (pools)|($n!=$n)|$flags -DWITNESS=W_$w|-DBFS -O0"
	done
	echo "reached: REBUILT (restored)|(8!=8)|-DRESTORE -DREVS=1 -DMREVS=1 -DWITNESS=W_REBUILT|-DBFS -O0"
}

# A tree in which a FederatedQuota moves, and what is known in it of a restore. Rows begin beside what they are about:
# OUTER with a in P, HELD what a has, GIVES with c to give back what it has, JOINS with a to come. In rows of a restore
# the backup is of the start, and b is left out; STILL a moves nowhere.
move_rows() {
	local m in_use='.last' r='-DRESTORE -DNO_B -DMORE=3 -DMTENS=2' still
	still="$r -DSTILL -DREVS=3 -DTENS=1"
	local after='-DRESTORE -DNO_B -DREVS=1 -DMORE=2 -DTENS=1 -DMTENS=2'
	local lately='-DRESTORE -DNO_B -DREVS=2 -DMORE=3 -DTENS=2 -DMTENS=1'
	local left='-DRESTORE -DNO_B -DREVS=2 -DMORE=2 -DTENS=2 -DMTENS=1 -DOUTER -DSTILL -DLEAVES -DGHOST'
	local give="$still -DOUTER -DHELD=0 -DGIVES" joins="$still -DHELD=0 -DJOINS"
	local lost="$r -DSTILL -DREVS=2 -DTENS=1 -DOUTER -DLOSES"
	cat <<-END
		moves: out of a pool, and back|-|-DREVS=3 -DTENS=3|
		moves: into a pool, and back|-|-DREVS=3 -DTENS=3 -DOUTER|
		moves: some leave the tree|-|-DREVS=3 -DTENS=2 -DLEAVES|
		moves, restored: a raise is lost|-|$still -DHELD=0|
		moves, restored: and then it moves|-|$after|
		moves, restored: a move is lost|-|$lately|
		moves, restored: it was into a pool|-|$lately -DOUTER|
		moves, restored: leaving is lost|-|$left|
		spare: a move read from a cache|-|$lately -DOUTER -DGHOST -DCACHED|
		moves, restored: a join is lost|-|$joins|
		moves, restored: by a new manager|-|$give -DRESTART|
		moves, restored: a ledger is wiped|-|$lost|
	END
	for m in AT_ONCE LEFT_BEHIND; do
		echo "$m (moves)|$in_use|-DM_$m -DONLY_S1|-DBFS"
	done
	for m in NO_RENEW TENURES; do
		echo "$m (moves)|$in_use|-DM_$m -DONLY_S1 -DOUTER|-DBFS"
	done
	echo "POOL_LEAVES (moves)|$in_use|-DM_POOL_LEAVES -DONLY_S1 -DTENS=2 -DLEAVES|-DBFS"
	echo "POOLS_UNTOLD (moves, restored)|$in_use|$still -DHELD=0 -DM_POOLS_UNTOLD -DONLY_S1|-DBFS"
	echo "CHILD_TRUSTS (moves, restored)|$in_use|$give -DM_CHILD_TRUSTS -DONLY_S1|-DBFS"
	echo "FLOOR_TENURE (moves, restored)|$in_use|$still -DOUTER -DM_FLOOR_TENURE -DONLY_S1|-DBFS"
	echo "NOT_STORED (moves, restored)|$in_use|$give -DRESTART -DM_NOT_STORED -DONLY_S1|-DBFS"
	echo "WAIT_ONCE (moves, restored)|$in_use|$joins -DM_WAIT_ONCE -DONLY_S1|-DBFS"
	echo "LEFT_CACHED (moves, restored)|$in_use|$left -DM_LEFT_CACHED -DONLY_S1|-DBFS"
	echo "REVISION_AT_ONCE (moves, restored)|$in_use|$lost -DM_REVISION_AT_ONCE -DONLY_S1|-DBFS"
	local n=0 w flags
	for w in LEFT_Q LEFT_P KEPT RENEWED REBUILT STORED NOTICED_TWICE REBUILT_TWICE MOVED_AFTER CAME_BACK BEGUN; do
		n=$((n + 1)) flags=
		case $w in
			LEFT_P | RENEWED) flags=-DOUTER ;;
			KEPT) flags='-DBUDGET=2' ;;
			CAME_BACK) flags='-DLEAVES -DHELD=0' ;;
			STORED | NOTICED_TWICE) flags="$give -DRESTART" ;;
			REBUILT) flags=$joins ;;
			REBUILT_TWICE) flags="$still -DOUTER" ;;
			MOVED_AFTER) flags=$after ;;
			BEGUN) flags=$lost ;;
		esac
		echo "reached: $w (moves)|($n!=$n)|$flags -DONLY_S1 -DWITNESS=W_$w|-DBFS"
	done
}

# check NUMBER (of a row): generate, compile, run; leave one line of the table and its verdict.
check() {
	local name found flags compiler model dir="$WORK/$1" mode=-DSAFETY search='' out verdict=ok steps=-
	IFS='|' read -r name found flags compiler model < <(sed -n "$1p" "$WORK/rows")
	mkdir -p "$dir" && cp "$model" "$dir" && cd "$dir"
	[[ $flags != *CALM_ENDS* ]] || { mode='' search=-a; }
	# shellcheck disable=SC2086 # flags are words
	{ spin $flags -a "$model" && gcc -O2 -w $mode -DNOREDUCE -DMEMLIM=4000 $compiler -o pan pan.c; } >build.log 2>&1 ||
		{ cat build.log >&2; verdict=BUILD; }
	[[ $verdict != ok ]] || ./pan -n -E $search -m200000 -w24 >pan.log 2>&1 || true
	out=$(cat pan.log 2>/dev/null || true)
	if [[ $found == - ]]; then
		[[ $out == *"errors: 0"* && $out != *"not completed"* && $out != *"too small"* ]] || verdict=WRONG
	else
		[[ $out == *"errors: 1"* && $(grep '^pan:1:' pan.log) == *"$found"* ]] || verdict=WRONG
	fi
	[[ ! -f $model.trail ]] || steps=$(grep -c '^[0-9]' "$model.trail")
	awk -v name="$name" -v steps="$steps" -v verdict="$verdict" '
		/states, stored/ { states = $1 } /depth reached/ { sub(/.*reached /, ""); depth = $1 + 0 } /elapsed time/ { time = $4 }
		END { printf "%-38s %11d %7d %7s %8.1f  %s\n", name, states, depth, steps, time, verdict }' <<<"$out" >"$WORK/$1.row"
}

# trail MODEL FLAGS: the steps of the counter-example, by the names of the model's steps, with the member that they
# change, or the child.
trail() {
	# shellcheck disable=SC2086 # flags are words
	(cd "$WORK/1" && spin $2 -p -k "$1.trail" "$1") | awk -v model="$1" '
		function flush() { if (last) printf "%4s %-8s %-12s%s\n", last, who, step, member; member = "" }
		BEGIN { split("b c Q", children); children[0] = "a"; split("a,Q b,Q c,P Q,P", entries); entries[0] = "a,P"
			while ((getline line <model) > 0) { n++; if (line ~ /^(inline|active)/) { split(line, w, /[ (]/); name = w[2] }
			at[n] = name } }
		!/^ *[0-9]+:\tproc/ || /:init:/ { next }
		$1 != last { flush(); last = $1; who = substr($4, 2, index($4, ":") - 2); match($0, /pml:[0-9]+/)
			step = at[substr($0, RSTART + 4, RLENGTH - 4) + 0] }
		!member && match($0, /\[(ledger|share|quota|entry|child|member)\[[0-4]\]\.[a-z]+ = /) {
			split(substr($0, RSTART + 1, RLENGTH), part, /[][]/)
			member = (model == "fedquota.pml" ? "member " : "child ") part[2]
			if (model == "moves.pml") member = part[1] == "entry" ? entries[part[2]] : children[part[2]] }
		END { flush() }'
}

WORK=$(mktemp -d)
trap 'rm -rf "$WORK"' EXIT
export WORK
export -f check
rows | grep -F -- "${1:-|}" >"$WORK/rows" || { echo "model: no row named $1" >&2; exit 2; }
count=$(wc -l <"$WORK/rows")
seq "$count" | xargs -P "${JOBS:-2}" -I{} bash -euo pipefail -c "check {}"
printf '%-38s %11s %7s %7s %8s  %s\n' run states depth steps seconds as_it_must_be
for ((i = 1; i <= count; i++)); do cat "$WORK/$i.row"; done | tee "$WORK/table"
if ((count == 1)); then
	IFS='|' read -r _ _ flags _ model <"$WORK/rows"
	[[ ! -f $WORK/1/$model.trail ]] || trail "$model" "$flags"
fi
! grep -Eq '(WRONG|BUILD)$' "$WORK/table"
