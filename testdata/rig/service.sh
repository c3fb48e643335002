# The managers of one host as OpenSM's packages start them: two ports on two subnets. Start
# with the rig's two-subnets.net.
. /etc/rig-lib.sh
start_fabric 4
mkdir -p /etc/sysconfig /etc/rdma /var/log /var/cache /var/lib /run
two() { active 0 1 2 3 && paths 0 1 && paths 2 3; }

# launch OPTION...: the managers that the files or options name; both subnets are up.
launch() {
	: >/tmp/sm.out
	ibsm "$@" >/tmp/sm.out 2>&1 &
	sm=$!
	within 30 two || fail "$*: the subnets did not come up"
	within 10 is_sm 0 && within 10 is_sm 2 || fail "$*: IsSM is not set"
}

# stop: all managers end, with status 0.
stop() {
	kill $sm
	wait $sm || fail "status $?"
	! is_sm 0 && ! is_sm 2 || fail "IsSM is still set"
}

# pid_of INSTANCE: its process, as the launcher reported.
pid_of() { sed -n "s/^ibsm: instance $1 runs as process //p" /tmp/sm.out | tail -n 1; }

# one_of_two FIRST SECOND: the second instance is stopped and stays so, the first is
# killed and comes back, and its subnet goes on.
one_of_two() {
	kill $(pid_of $2)
	within 10 grep -q "instance $2 has ended with status 0" /tmp/sm.out || fail "instance $2 does not end"
	! is_sm 2 || fail "IsSM of $2 is still set"
	fabric reboot 1
	within 20 active 1 || fail "the subnet of $1 does not respond"
	local old=$(pid_of $1)
	kill -9 $old
	within 20 sh -c "sed -n 's/^ibsm: instance $1 runs as process //p' /tmp/sm.out | grep -qv '^$old\$'" || fail "instance $1 is not started again"
	within 20 is_sm 0 || fail "instance $1 does not come back"
	fabric reboot 1
	within 20 active 1 || fail "the subnet of $1 does not respond after $1 was killed"
}

first=$(port_guid 0) second=$(port_guid 2)
printf 'GUIDS="%s %s"\nPRIORITY=15\n' $first $second >/etc/sysconfig/opensm
launch --launch
for hca in vhca0 vhca2; do
	sminfo -C $hca | grep 'priority 15' || fail "sminfo -C $hca"
done
for n in 0 1 2 3; do # as the guide looks at ports
	ibstat vhca$n >/tmp/ibstat
	grep -q 'State: Active' /tmp/ibstat && grep -q "Port GUID: $(port_guid $n)" /tmp/ibstat && grep -q 'SM lid: [1-9]' /tmp/ibstat || fail "ibstat: $(cat /tmp/ibstat)"
done
ls /var/lib/ibsm/$first/state.db /var/lib/ibsm/$second/state.db /var/log/opensm.$first.log /run/ibsm/$second.sock || fail "not all is kept apart"

# A port that is in use, without a store that could say so.
if ibsm -g $first -f /tmp/third.log --state_dir none >/tmp/third.out 2>&1; then fail "a third manager runs"; fi
cat /tmp/third.out
grep "process $(pid_of $first) (ibsm)" /tmp/third.out || fail "the process that has the port is not named"
one_of_two $first $second
stop

# Files with a number, and what package managers leave beside them.
printf 'guid %s\nsm_priority 3\n' $first >/etc/rdma/opensm.conf.1
printf 'guid %s\nsm_priority 4\n' $second >/etc/rdma/opensm.conf.2
printf 'guid 0x1\n' | tee /etc/rdma/opensm.conf /etc/rdma/opensm.conf.rpmnew >/etc/rdma/opensm.conf.1.rpmsave
launch --launch
sminfo -C vhca0 | grep 'priority 3' && sminfo -C vhca2 | grep 'priority 4' || fail "sminfo"
one_of_two 1 2

# Read again: the second file gives way to a third, of the same port; the first goes on.
old=$(pid_of 1)
rm /etc/rdma/opensm.conf.2
printf 'guid %s\nsm_priority 5\n' $second >/etc/rdma/opensm.conf.3
printf 'guid %s\nsm_priority 6\n' $first >/etc/rdma/opensm.conf.1
kill -HUP $sm
within 30 sh -c 'sminfo -C vhca2 | grep -q "priority 5"' || fail "the new file has no manager"
within 30 sh -c 'sminfo -C vhca0 | grep -q "priority 6"' || fail "the first file was not read again"
[ "$(pid_of 1)" = "$old" ] || fail "instance 1 was started again"
stop

# A manager at every port.
rm -r /etc/rdma /etc/sysconfig
launch --all-ports
within 20 is_sm 1 && within 20 is_sm 3 || fail "not every port has a manager"
stop

# OpenSM has the port.
opensm -B -g $first -f /tmp/opensm.log >/dev/null
within 20 is_sm 0 || fail "OpenSM does not come up"
if ibsm -g $first -f /tmp/third.log >/tmp/third.out 2>&1; then fail "ibsm runs beside OpenSM"; fi
cat /tmp/third.out
grep "process $(pidof opensm) (opensm)" /tmp/third.out || fail "OpenSM is not named"
