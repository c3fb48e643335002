# Without timed sweeps, changes are detected by trap, and handled.
. /etc/rig-lib.sh
start_fabric 4
start_sm -s 0
within 20 whole || fail "the fabric did not come up"
sleep 2
before=$(lids)

trap='Received Generic Notice' # in the log

# seconds NAME FROM: from the first trap since line FROM of the log to the end of the
# last sweep that wrote something.
seconds() {
	tail -n +$2 /tmp/sm.log | awk -v name="$1" '
		match($0, /[0-9]+:[0-9]+:[0-9]+[ .][0-9]+/) {
			split(substr($0, RSTART, RLENGTH), t, /[: .]/)
			at = t[1] * 3600 + t[2] * 60 + t[3] + ("0." t[4])
		}
		/'"$trap"'/ && !any { trapped = at; any = 1 }
		any && /SUBNET UP/ && (!up || !/sets=none/) { up = at }
		END {
			if (!any || !up) exit 1
			printf "%s: ACTIVE %.3f s after the trap\n", name, up - trapped
			exit up - trapped > 2
		}'
}

# event NAME COMMAND...: the fabric is hurt; it gets well.
event() {
	local name=$1 line=$(($(wc -l </tmp/sm.log) + 1)) from=$(now)
	shift
	fabric "$@"
	within 10 swept $line || fail "$name: no sweep"
	within 10 whole || fail "$name: not repaired"
	echo "$name: whole $(($(now) - from)) ms after it began"
	within 10 noticed $line || fail "$name: no trap, or no sweep after it"
	sleep 2
	whole || fail "$name: not repaired for long"
	seconds "$name" $line || fail "$name: too slow"
	[ "$(lids)" = "$before" ] || fail "$name: LIDs moved: $before, then $(lids)"
	sound
}

# swept LINE: a sweep ended since that line of the log. A trap of the switch next to us can
# come later than the sweep that the state of our own port asks for.
swept() { tail -n +$1 /tmp/sm.log | grep -q 'SUBNET UP'; }

# noticed LINE: a trap came since that line of the log, and a sweep ended after it.
noticed() { tail -n +$1 /tmp/sm.log | sed -n "/$trap/,\$p" | grep -q 'SUBNET UP'; }

event "link down" down sw1 7
event "link up" up sw1 7
event "host rebooted" reboot 3
event "switch rebooted" reboot-switch sw2
event "switch next to the manager rebooted" reboot-switch sw1
fabric down sw1 1
sleep 1
event "our own link down and up" up sw1 1
line=$(($(wc -l </tmp/sm.log) + 1))
fabric down sw2 2
within 10 noticed $line || fail "a host that is gone is not noticed"
within 10 paths 0 1 2 || fail "the others suffer from a host that is gone"
event "host gone and back" up sw2 2
content || fail "fabcheck: $(cat /tmp/fabcheck.out)"

# A fabric that loses one packet in ten is repaired, too.
fabric drop 10
fabric reboot-switch sw2
within 30 whole || fail "not repaired where packets are lost"
fabric drop 0
sound
stop_sm
