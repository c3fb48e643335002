# From OpenSM to ibsm and back by the README's own words, under systemd, with Debian's package of OpenSM as it is, and with a unit
# that starts OpenSM as RHEL's does. Start with run-debian; /debs has ibsm and Debian's opensm, /etc/migrate-host.sh is the script beside
# this one, /etc/to-ibsm and /etc/to-opensm are the README's commands. CASE is a pattern of cases,
# such as "hand plain" or "rhel*"; without it all are tried.
. /etc/rig-lib.sh
export DEBIAN_FRONTEND=noninteractive TO=/etc/to-ibsm BACK=/etc/to-opensm FABCHECK="fabcheck -C vhca1" WITNESS= OUT=/tmp

# tried HOST VARIANT: on a host that has never seen a manager.
tried() {
	systemctl disable --now opensm ibsm >/dev/null 2>&1
	systemctl stop 'opensm@*' >/dev/null 2>&1
	for program in opensm ibsm; do pkill -x $program; done
	within 30 sh -c '! pidof opensm ibsm' || fail "a manager still runs"
	rm -rf /etc/opensm /etc/sysconfig/opensm /var/cache/opensm/* /var/lib/ibsm/* /var/log/opensm* /run/systemd/system/ibsm.service.d
	cp /etc/opensm.default /etc/default/opensm
	mkdir -p /etc/opensm /etc/sysconfig
	systemctl daemon-reload
	systemctl reset-failed
	for switch in sw1 sw2; do fabric reboot-switch $switch; done # which hold multicast entries of the time before
	bash /etc/migrate-host.sh "$@" || fail "$*"
}

# rhel: RHEL's unit in place of Debian's. The launcher starts a shell for each manager, which starts OpenSM again whenever it ends, and
# leaves them.
rhel() {
	mkdir -p /usr/libexec
	cat >/usr/libexec/opensm-launch <<'LAUNCH'
#!/bin/bash
[ ! -f /etc/sysconfig/opensm ] || . /etc/sysconfig/opensm
options=${PRIORITY:+-p $PRIORITY}
keep() { while true; do /usr/sbin/opensm "$@"; sleep 30; done; }
n=0
for guid in $GUIDS; do
	keep $options -g $guid --subnet_prefix $(printf 0xfe800000000000%02d $n) &
	n=$((n + 1))
done
[ -n "$GUIDS" ] || keep $options &
exit 0
LAUNCH
	chmod +x /usr/libexec/opensm-launch
	cat >/etc/systemd/system/opensm.service <<'UNIT'
[Unit]
Description=Starts the OpenSM InfiniBand fabric Subnet Manager

[Service]
Type=forking
ExecStart=/usr/libexec/opensm-launch

[Install]
WantedBy=network-online.target
UNIT
	: >/etc/opensm.default
}

apt-get -qq -y --no-install-recommends -o Dpkg::Use-Pty=0 install /debs/*.deb >/tmp/apt.out 2>&1 || { cat /tmp/apt.out; fail "apt-get install"; }
cp /etc/default/opensm /etc/opensm.default
start_fabric 4
within 60 test -e /dev/infiniband/umad3 || fail "no devices"
while read -r host variant <&3; do
	case "$host $variant" in ${CASE:-*}) ;; *) continue ;; esac
	case $host in rhel*) rhel ;; esac
	tried=yes
	tried $host $variant
done 3<<'CASES'
ports-guid plain
ports-guid no-file
ports-guid broken
ports-guid moves
ports-all several
hand plain
rhel plain
rhel-guids plain
rhel broken
CASES
[ -n "$tried" ] || fail "no case '$CASE'"
