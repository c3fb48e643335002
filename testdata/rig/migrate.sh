# From OpenSM to ibsm and back, by the README's own words: no LID, no forwarding entry and
# no group changes, and hosts that talk IP over InfiniBand notice nothing. Start with
# failover.net beside this script.
. /etc/rig-lib.sh
start_fabric 6
hosts="1 2 3 4 5"
mkdir -p /etc/opensm /etc/default /run/units /var/lib /var/log /var/cache/opensm
echo 'sm_priority 3' >/etc/opensm/opensm.conf
echo debian >/run/units/kind # systemctl is the script beside this one
echo "PORTS=$(port_guid 0)" >/etc/default/opensm
echo IBSM_OPTIONS= >/etc/default/ibsm
ln -s /var/log/opensm.$(port_guid 0).log /tmp/sm.log
up() { active 0 $hosts && paths 0 $hosts; }
settled() { registered >/tmp/settled.1 && sleep 2 && registered >/tmp/settled.2 && cmp /tmp/settled.1 /tmp/settled.2; }

# passes NAME PART: a part of the README's is run, and changes nothing.
passes() {
	local name=$1
	fabcheck --no-check --snapshot /tmp/fabric.before || fail "fabcheck --snapshot"
	registered >/tmp/before
	ping_on
	sleep 1
	sh -ex $2 >/tmp/sm.out 2>&1 || fail "$name: status $?"
	grep -q '^done$' /tmp/sm.out && grep -q ' as before$' /tmp/sm.out || fail "$name: nothing is said to be as before"
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
