# The packages and the units under a live systemd, on a Debian that has never seen a subnet
# manager. Start with run-debian and the rig's two-subnets.net; /debs has ibsm 1.0 and 1.1 and
# Debian's opensm.
. /etc/rig-lib.sh
export DEBIAN_FRONTEND=noninteractive

step() { echo "--- $*"; }
# broken TEXT...: fail with what systemd knows.
broken() {
	systemctl status --no-pager -l ibsm.service
	journalctl --no-pager -n 40 -u ibsm.service -u 'ibsm@*' -u opensm.service
	fail "$@"
}
# get PROPERTY [UNIT]: of a unit.
get() { systemctl show -P $1 ${2:-ibsm.service}; }
# says TEXT [UNIT]: whether its status line has the text.
says() { get StatusText $2 | grep -q "$1"; }
# became N [UNIT]: whether it has been started again so often, and is up.
became() { [ "$(get NRestarts $2)" = $1 ] && [ "$(get ActiveState $2)" = active ]; }
install() { apt-get -qq -y --no-install-recommends -o Dpkg::Use-Pty=0 install "$@" >/tmp/apt.out 2>&1 || { cat /tmp/apt.out; fail "apt-get install $*"; }; }
remove() { apt-get -qq -y -o Dpkg::Use-Pty=0 "$@" >/tmp/apt.out 2>&1 || { cat /tmp/apt.out; fail "apt-get $*"; }; }
# everything: the files of the system.
everything() { find / -xdev \( -path /proc -o -path /sys -o -path /run -o -path /tmp -o -path /debs \) -prune -o -print | LC_ALL=C sort; }
# not COMMAND...: for within.
not() { ! "$@"; }
up() { active 0 1 && paths 0 1; }
two() { active 0 1 2 3 && paths 0 1 && paths 2 3; }

step "a system without a manager"
[ "$(systemctl is-system-running --wait)" = running ] || fail "the system does not come up: $(systemctl --failed --no-legend)"
everything >/tmp/before

step "ibsm is installed and starts nothing"
install /debs/ibsm_1.0_amd64.deb
[ "$(systemctl is-enabled ibsm)" = disabled ] && [ "$(systemctl is-active ibsm)" = inactive ] || broken "it is $(systemctl is-enabled ibsm), $(systemctl is-active ibsm)"
systemd-analyze verify /usr/lib/systemd/system/ibsm.service /usr/lib/systemd/system/ibsm@.service || fail "systemd-analyze verify"

step "started before there is an adapter, it is ready and says that it waits"
systemctl start ibsm || broken "start"
says "waiting for the port" || broken "status $(get StatusText)"
start_fabric 4
within 90 up || broken "the subnet does not come up"
within 60 says "SUBNET UP" || broken "status $(get StatusText)"
is_sm 0 || broken "IsSM is not set"
became 0 || broken "it was started again"

step "reload reads the configuration again"
mkdir -p /etc/opensm
echo "sm_priority 9" >/etc/opensm/opensm.conf
systemctl restart ibsm || broken "restart"
within 90 sh -c 'sminfo -C vhca1 | grep -q "priority 9 "' || broken "priority 9: $(sminfo -C vhca1)"
echo "sm_priority 11" >/etc/opensm/opensm.conf
systemctl reload ibsm || broken "reload"
within 90 sh -c 'sminfo -C vhca1 | grep -q "priority 11 "' || broken "priority 11: $(sminfo -C vhca1)"
became 0 || broken "reload started it again"

step "a manager that hangs is killed and started again"
mkdir -p /run/systemd/system/ibsm.service.d
printf '[Service]\nWatchdogSec=15\n' >/run/systemd/system/ibsm.service.d/test.conf
systemctl daemon-reload && systemctl restart ibsm || broken "restart"
within 90 up || broken "the subnet is not up"
sleep 20
became 0 || broken "a manager that lives is killed"
kill -STOP $(get MainPID)
within 90 became 1 || broken "a manager that hangs is not started again: $(get Result) $(get ActiveState)"
within 90 is_sm 0 || broken "it does not come back"
journalctl --no-pager -u ibsm | grep -q "Watchdog timeout" || broken "no watchdog"
rm /run/systemd/system/ibsm.service.d/test.conf

step "a manager that is killed is started again"
systemctl daemon-reload && systemctl restart ibsm || broken "restart"
kill -9 $(get MainPID)
within 90 became 1 || broken "it is not started again"

step "what the unit allows is in force"
main=$(get MainPID)
for want in "NoNewPrivs:	1" "Seccomp:	2" "CapBnd:	0000000000000001" "CapEff:	0000000000000001"; do
	grep -q "$want" /proc/$main/status || broken "no $want in $(grep 'NoNewPrivs\|Seccomp\|Cap' /proc/$main/status)"
done
[ "$(cat /proc/$main/oom_score_adj)" = -500 ] || broken "OOM score"
cat >/tmp/probe <<'PROBE'
# Run in the unit's place. may and may_not report what does not hold.
may() { "$@" 2>/dev/null || echo "it may not: $*"; }
may_not() { ! "$@" 2>/dev/null || echo "it may: $*"; }
open() { exec 5<>"$1"; }
may open /dev/infiniband/umad0
may open /dev/infiniband/issm3
may_not open /dev/vhca
may_not open /dev/kmsg
for d in /var/log /var/lib/ibsm /var/cache/opensm /run/ibsm /tmp; do may touch $d/probe; may rm $d/probe; done
for d in /etc /usr/sbin /var/lib /run /root /home /boot /sys /proc/sys/kernel; do may_not touch $d/probe; done
may_not mount -t tmpfs none /run/ibsm
may_not sh -c 'echo 1 >/proc/sys/kernel/panic'
may_not sh -c 'echo x >/sys/kernel/mm/transparent_hugepage/enabled'
may_not dmesg
may_not hostname other
may_not date -s 2001-01-01 >/dev/null
may_not unshare -n true
may_not modprobe configfs
may_not chroot / true
may_not chrt -f 10 true
PROBE
printf '[Service]\nType=oneshot\nExecStart=\nExecStart=/bin/bash /etc/probe\nStandardOutput=file:/var/log/probe.out\nRestart=no\nWatchdogSec=0\n' >/run/systemd/system/ibsm.service.d/probe.conf
cp /tmp/probe /etc/probe
systemctl daemon-reload && systemctl stop ibsm && systemctl start ibsm || broken "the probe does not run"
[ ! -s /var/log/probe.out ] || { cat /var/log/probe.out; fail "the unit's walls"; }
rm -r /run/systemd/system/ibsm.service.d /etc/probe /var/log/probe.out
systemctl daemon-reload

step "stopped, it ends well and leaves the ports"
systemctl start ibsm || broken "start"
within 90 up || broken "not up"
systemctl stop ibsm
[ "$(get Result)" = success ] && [ "$(get ExecMainStatus)" = 0 ] || broken "$(get Result), status $(get ExecMainStatus)"
! is_sm 0 || broken "IsSM is still set"
up || broken "the ports have gone down"

step "GUIDS and PRIORITY: two managers of one unit"
rm /etc/opensm/opensm.conf
mkdir -p /etc/sysconfig
first=$(port_guid 0) second=$(port_guid 2)
printf 'GUIDS="%s %s"\nPRIORITY=15\n' $first $second >/etc/sysconfig/opensm
systemctl start ibsm || broken "start"
within 90 two || broken "the subnets do not come up"
within 60 says "$first: SUBNET UP; $second: SUBNET UP" || broken "status $(get StatusText)"
sminfo -C vhca1 | grep -q "priority 15" && sminfo -C vhca3 | grep -q "priority 15" || broken "priority"
kill -9 $(journalctl --no-pager -u ibsm | sed -n "s/.*instance $second runs as process //p" | tail -n 1)
within 60 not is_sm 2 || broken "it lives"
within 90 is_sm 2 || broken "it is not started again"
became 0 || broken "the unit was started again"
printf 'GUIDS="%s"\nPRIORITY=15\n' $first >/etc/sysconfig/opensm
systemctl reload ibsm || broken "reload"
within 60 not is_sm 2 && within 60 not says $second && is_sm 0 || broken "after the reload: $(get StatusText)"
became 0 || broken "the unit was started again"
systemctl stop ibsm
[ "$(get ExecMainStatus)" = 0 ] && ! is_sm 0 && ! is_sm 2 || broken "status $(get ExecMainStatus)"

step "one unit for each port"
systemctl start ibsm@$first ibsm@$second || broken "start of the instances"
within 90 is_sm 0 && within 90 is_sm 2 || broken "instances"
systemctl stop ibsm@$second
! is_sm 2 && is_sm 0 || broken "one of two"
systemctl stop ibsm@$first
rm -r /etc/sysconfig

step "an upgrade starts it again, and keeps configuration and store"
systemctl enable --now ibsm >/dev/null 2>&1 || broken "enable"
within 90 up || broken "not up"
echo "IBSM_OPTIONS='-p 7'" >/etc/default/ibsm
echo "sm_priority 5" >/etc/opensm/opensm.conf
before=$(lids) was=$(get MainPID) store=$(ls -i /var/lib/ibsm/$first/state.db)
install /debs/ibsm_1.1_amd64.deb
dpkg -s ibsm | grep -q '^Version: 1.1$' || fail "no 1.1"
[ "$(get MainPID)" != $was ] && became 0 || broken "it was not started again"
within 90 sh -c 'sminfo -C vhca1 | grep -q "priority 7 "' || broken "its options are lost: $(sminfo -C vhca1)"
[ "$(lids)" = "$before" ] && [ "$(ls -i /var/lib/ibsm/$first/state.db)" = "$store" ] && [ "$(cat /etc/opensm/opensm.conf)" = "sm_priority 5" ] || broken "the upgrade has lost something"

step "in OpenSM's place"
install /debs/opensm_*.deb /debs/libos*.deb /debs/libopensm*.deb
[ "$(opensm --version | head -2 | tail -1)" = "OpenSM 3.3.23" ] || fail "OpenSM"
systemctl stop opensm 'opensm@*'
install /debs/ibsm-opensm_1.0_all.deb
readlink -f /usr/sbin/opensm | grep -q ibsm || fail "opensm is not ibsm"
[ "$(systemctl is-active opensm)" = active ] && [ "$(get MainPID opensm)" = "$(get MainPID)" ] || broken "opensm.service is not ibsm's"
within 60 is_sm 0 || broken "no manager"

step "and back"
install /debs/opensm_*.deb ibsm-opensm-
! readlink -f /usr/sbin/opensm | grep -q ibsm || fail "opensm is still ibsm"
dpkg -s ibsm-opensm 2>/dev/null | grep -q '^Status: install' && fail "ibsm-opensm is still there"
[ "$(systemctl is-enabled opensm)" = enabled ] && [ "$(systemctl is-enabled ibsm)" = disabled ] && [ "$(systemctl is-active ibsm)" = inactive ] ||
	broken "opensm is $(systemctl is-enabled opensm), ibsm $(systemctl is-enabled ibsm) and $(systemctl is-active ibsm)"
within 90 sh -c 'pidof opensm' || broken "OpenSM does not start: $(journalctl --no-pager -n 20)"
within 90 up || fail "OpenSM's subnet is not up"
set -- $before # OpenSM's managers share one guid2lid: those of the second subnet may differ
[ "$(lids | cut -d ' ' -f 1,2)" = "$1 $2" ] || fail "LIDs $(lids), before $before"
systemctl stop opensm 'opensm@*'
remove purge opensm libopensm9 libosmcomp5 libosmvendor5

step "removed, configuration and store stay"
remove remove ibsm
[ ! -e /usr/sbin/ibsm ] && [ ! -e /etc/systemd/system/multi-user.target.wants/ibsm.service ] || fail "ibsm is still there"
[ -e /etc/default/ibsm ] && [ -e /var/lib/ibsm/$first/state.db ] || fail "too much is gone"
remove purge ibsm
everything >/tmp/after
LC_ALL=C comm -13 /tmp/before /tmp/after | grep -v '^/etc/opensm\|^/var/cache/opensm\|^/var/log/opensm\|^/var/cache/apt\|^/var/lib/apt\|^/var/log/apt\|^/var/log/dpkg\|^/var/cache/ldconfig\|^/var/tmp/systemd-private-' >/tmp/left
[ ! -s /tmp/left ] || fail "purging leaves $(cat /tmp/left)"
