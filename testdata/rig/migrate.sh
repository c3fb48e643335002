# From OpenSM to ibsm and back, by the README's own words: no LID, no forwarding entry and
# no group changes, and hosts that talk IP over InfiniBand notice nothing. Start with
# failover.net beside this script.
. /etc/rig-lib.sh
start_fabric 6
hosts="1 2 3 4 5"
mkdir -p /etc/opensm
echo 'sm_priority 3' >/etc/opensm/opensm.conf

# systemctl: as far as the README uses it. opensm and ibsm run at adapter 0.
systemctl() {
	case "$*" in
	"kill -s HUP opensm") kill -HUP $(pidof opensm) ;;
	"disable --now "*) kill -TERM $(pidof $3) && within 20 gone $3 || fail "$3 does not end" ;;
	"enable --now "*)
		cp /dev/null /tmp/sm.log
		$3 -F /etc/opensm/opensm.conf -f /tmp/sm.log >>/tmp/sm.out 2>&1 &
		within 60 grep -q 'SUBNET UP' /tmp/sm.log || fail "$3 does not bring the subnet up"
		;;
	*) fail "systemctl $*" ;;
	esac
}
gone() { ! pidof $1; }
up() { active 0 $hosts && paths 0 $hosts; }
settled() { registered >/tmp/settled.1 && sleep 2 && registered >/tmp/settled.2 && cmp /tmp/settled.1 /tmp/settled.2; }

# passes NAME PART: a part of the README's is run, and changes nothing.
passes() {
	local name=$1
	fabcheck --no-check --snapshot /tmp/fabric.before || fail "fabcheck --snapshot"
	registered >/tmp/before
	ping_on
	sleep 1
	. $2
	within 20 up || fail "$name: not whole"
	within 60 settled || fail "$name: the hosts do not come to rest"
	ping_off
	echo "migration: $name: $lost packets lost"
	[ ${lost%% *} = 0 ] && [ "$lost" != "0 of 0" ] || fail "$name: packets were lost"
	fabcheck --no-check --compare /tmp/fabric.before | grep '^DIFF' >/tmp/differs
	! grep -v 'DIFF mft' /tmp/differs || fail "$name: the fabric is different: $(cat /tmp/differs)"
	registered >/tmp/after
	diff /tmp/before /tmp/after >/tmp/differs || fail "$name: what is registered is different: $(grep '^[-+]' /tmp/differs)"
	fabcheck >/tmp/fabcheck.out 2>&1
	grep -q 'SA answers' /tmp/fabcheck.out || fail "$name: the SA does not answer"
	# Where nobody receives, ibsm forwards nothing.
	! grep '^FAIL' /tmp/fabcheck.out | grep -v 'send-only member' || fail "$name: fabcheck finds something"
	echo "migration: $name: $(wc -l <"/tmp/before") registrations and $(grep -c '' /tmp/fabric.before) facts of the fabric are as they were"
}

systemctl enable --now opensm
within 60 up || fail "OpenSM does not bring the fabric up"
for n in $hosts; do
	host $n
done
register
passes "to ibsm" /etc/to-ibsm
passes "back to OpenSM" /etc/to-opensm
