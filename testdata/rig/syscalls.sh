# System calls for each SMP, by the kernel's own count, of OpenSM and of ibsm: a cold start, and a heavy sweep.
. /etc/rig-lib.sh
start_fabric 4
mount -t tracefs none /sys/kernel/tracing || fail "no tracefs"
event=/sys/kernel/tracing/events/raw_syscalls/sys_enter

# begin PROGRAM: count its system calls, of all threads, by number; and the fabric's SMPs.
begin() {
	hist="hist:keys=id if comm == \"$1\""
	echo "$hist" >$event/trigger || fail "the kernel makes no histogram of system calls"
	smps=$(seen)
}

# seen: SMPs that the fabric has seen.
seen() { fabric count | awk '$1 == "total" { print $2 }'; }

# calls [NUMBER...]: system calls since begin, of these numbers or of all.
calls() {
	awk -v wanted=" $* " '$1 == "{" {
		id = $3 + 0; n = $NF
		if (wanted == "  " || index(wanted, " " id " ")) sum += n
	} END { print sum + 0 }' /tmp/hist
}

# end PROGRAM WHAT: the figures, and no more counting. x86-64: 0 is read, 1 write, 7 poll, 202 futex, 228 clock_gettime,
# which is a system call on an emulated processor only, 281 epoll_pwait.
end() {
	cat $event/hist >/tmp/hist
	echo "!$hist" >$event/trigger
	sent=$(calls 1) received=$(calls 0) n=$(($(seen) - smps))
	echo "$1: $2: $n SMPs, system calls $(($(calls) - $(calls 228))), of these write $sent, read $received, poll $(calls 7 281), futex $(calls 202)"
}

# measure PROGRAM LOG COMMAND...: a cold start, then the heavy sweep that SIGHUP asks for.
measure() {
	local program=$1 log=$2
	shift 2
	begin $program
	"$@" >/tmp/$program.out 2>&1 &
	within 30 grep -q 'SUBNET UP' $log || fail "$program: not up"
	sleep 3
	end $program "cold start"
	begin $program
	: >$log
	kill -HUP $!
	within 30 grep -q 'SUBNET UP' $log || fail "$program: no heavy sweep"
	sleep 3
	end $program "heavy sweep"
	[ $n -gt 500 ] || fail "$program: $n SMPs in a heavy sweep"
	kill $!
	within 10 sh -c "! pidof $program" || fail "$program does not end"
}

measure opensm /tmp/opensm.log opensm -F /tmp/none.conf -f /tmp/opensm.log -s 0
for n in 0 1 2 3; do fabric reboot $n; done
for name in spine1 spine2 $(seq 18 | sed 's/^/leaf/'); do fabric reboot-switch $name; done
measure ibsm /tmp/sm.log ibsm -f /tmp/sm.log -s 0
# A write and a read each; a read more, which finds nothing, each time that the manager waits; and some for the SA's
# clients, the log and the configuration.
[ $sent -le $((n + n / 5 + 50)) ] || fail "ibsm: $sent writes for $n SMPs"
[ $received -le $((n * 3)) ] || fail "ibsm: $received reads for $n SMPs"
