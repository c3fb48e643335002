#!/bin/bash
# From OpenSM to ibsm and back by the README's own words, on a host with units: a Debian with systemd at the rig's adapters
# (run-debian), or namespaces at an ibsim, where systemctl is the script beside this one.
#
#   migrate-host.sh HOST VARIANT
#
# HOST is how OpenSM is started: ports-all, ports-guid, rhel, rhel-guids, hand. VARIANT is what is tried: plain; no-file, where OpenSM
# has no opensm.conf; late-file, where it was written after OpenSM was started, and registrations of another time lie there; broken,
# where ibsm does not start; moves, where ibsm would give ports other LIDs; again, where OpenSM has read the settings before.
# The variables TO and BACK name the files with the README's commands, FABCHECK is fabcheck with its options, WITNESS an environment
# for what looks at the fabric, OUT a folder.
host=$1 variant=$2 config=/etc/opensm/opensm.conf dump=/var/log/opensm-sa.dump

step() { echo "--- $(date +%T) $host, $variant: $*"; }
fail() {
	echo "FAIL: $host, $variant: $*"
	for log in /var/log/opensm*.log /var/log/*.out $OUT/migrate.out; do [ ! -e $log ] || { echo "$log:"; tail -n 30 $log; }; done
	journalctl --no-pager -n 30 -u ibsm -u 'opensm*' 2>/dev/null
	exit 1
}
within() { # SECONDS COMMAND...
	local end=$(($(date +%s) + $1))
	shift
	until "$@" >/dev/null 2>&1; do
		[ $(date +%s) -lt $end ] || return 1
		sleep 0.1
	done
}
witness() { env $WITNESS "$@"; }
master() { witness sminfo 2>/dev/null | grep -q MASTER; }
runs() { pidof -x $1 >/dev/null; }
is() { # UNIT enabled|disabled active|inactive
	[ "$(systemctl show -P UnitFileState $1)" = $2 ] && [ "$(systemctl show -P ActiveState $1)" = $3 ]
}
# join N: so many hosts are members of IPoIB's broadcast group.
join() { witness $FABCHECK --join $1 >$OUT/join.out 2>&1 || fail "join: $(cat $OUT/join.out)"; }
snapshot() { witness $FABCHECK --no-check --snapshot $1 >$OUT/fabcheck.out 2>&1 || fail "snapshot: $(cat $OUT/fabcheck.out)"; }
# same FILE: the fabric is as in the file: nodes, links, LIDs, routes, P_Keys, multicast tables. joined FILE: the same but for multicast
# tables, which another manager makes anew when hosts have joined again.
same() { unchanged $1 'node\|link\|lid\|lft\|pkey\|mft'; }
joined() { unchanged $1 'node\|link\|lid\|lft\|pkey'; }
unchanged() {
	witness $FABCHECK --no-check --compare $1 | grep "^DIFF \($2\)" >$OUT/differs
	[ ! -s $OUT/differs ] || fail "the fabric has changed: $(head -20 $OUT/differs)"
}
# paste FILE: the README's commands, each of which must succeed.
paste() { bash -ex $1 >$OUT/migrate.out 2>&1 || fail "$1: status $?"; }
# said TEXT: the commands have printed it.
said() { grep -q "$1" $OUT/migrate.out || fail "no '$1' was printed"; }

guid=$(ibstat -p | head -n 1)
[ -d /run/systemd/system ] || case $host in # whose package is installed
ports-*) echo debian >/run/units/kind ;;
*) echo rhel >/run/units/kind ;;
esac
step "the first manager, on port $guid"
case $host in
ports-all) echo "PORTS=ALL" >/etc/default/opensm ;;
ports-guid) echo "PORTS=\"$guid\"" >/etc/default/opensm ;;
rhel-guids) printf 'GUIDS="%s"\nPRIORITY=7\n' $guid >/etc/sysconfig/opensm ;;
esac
[ $variant = no-file ] || [ $variant = late-file ] || printf '# of the site\nsa_db_dump FALSE\nmax_op_vls 5\n' >$config
if [ $variant = first ]; then
	rm $config
	. /etc/default/ibsm
	echo "IBSM_OPTIONS='$IBSM_OPTIONS -R minhop'" >/etc/default/ibsm # OpenSM's routes on a cold subnet
fi
[ $variant != again ] || printf 'sa_db_dump TRUE\nsa_db_file %s\nno_clients_rereg TRUE\n' $dump >$config
if [ $variant = first ]; then
	systemctl enable --now ibsm || fail "ibsm does not start"
elif [ $host = hand ]; then
	port=
	[ ! -e /etc/default/opensm ] || { echo "PORTS=\"$guid\"" >/etc/default/opensm && port="-g $guid"; }
	setsid opensm -B $port >/dev/null 2>&1
else
	systemctl enable --now opensm || fail "OpenSM does not start"
fi
within 60 master || fail "nobody is master"
[ $variant = standby ] || within 60 test -s /var/log/opensm-subnet.lst || fail "OpenSM does not bring the subnet up"
join 2
snapshot $OUT/before
if [ $variant = late-file ]; then
	printf 'sa_db_dump TRUE\nsa_db_file %s\nno_clients_rereg TRUE\n' $dump >$config
	echo "MC Group of another time" >$dump
	touch -d 2001-01-01 $dump
fi

case $variant in
broken)
	step "ibsm does not start: OpenSM is started again"
	if [ -d /run/systemd/system ]; then
		mkdir -p /run/systemd/system/ibsm.service.d
		printf '[Service]\nExecStartPre=/bin/false\nRestart=no\n' >/run/systemd/system/ibsm.service.d/broken.conf
		systemctl daemon-reload
	else
		: >/run/units/broken
	fi
	! bash -e $TO >$OUT/migrate.out 2>&1 || fail "it succeeds"
	said "opensm, which was master before, was started again"
	within 60 master && runs opensm && ! runs ibsm || fail "OpenSM does not run"
	[ $host = hand ] || is opensm enabled active || fail "opensm is $(systemctl show opensm)"
	same $OUT/before
	exit 0
	;;
moves)
	step "ibsm would give ports other LIDs: nothing is stopped"
	printf 'lmc 1\n' >>$config
	process=$(pidof opensm)
	! bash -e $TO >$OUT/migrate.out 2>&1 || fail "it succeeds"
	! ibsmctl migrate to --yes >$OUT/migrate.out 2>&1 || fail "it succeeds"
	said "ibsm would change LIDs, routes or P_Key indexes in use; no manager was stopped"
	[ "$(pidof opensm)" = $process ] && ! runs ibsm || fail "OpenSM was stopped"
	same $OUT/before
	exit 0
	;;
esac

if [ $variant = standby ]; then
	step "to ibsm and back, beside the master of another host"
	within 60 grep -q "Entering STANDBY state" /var/log/opensm.$guid.log || fail "OpenSM is not a standby"
	paste $TO
	said "OpenSM is a standby here, and has no registrations"
	! runs opensm && runs ibsm && ibsmctl status | grep -q STANDBY || fail "$(ibsmctl status)"
	paste $BACK
	said "OpenSM is a standby here: the master is at port"
	runs opensm && ! runs ibsm || fail "OpenSM does not run"
	same $OUT/before
	exit 0
fi
if [ $variant != first ]; then
	step "to ibsm"
	paste $TO
	! runs opensm && runs ibsm && is ibsm enabled active || fail "ibsm is $(systemctl show ibsm)"
	[ $host = hand ] || is opensm disabled inactive || fail "opensm is $(systemctl show opensm)"
	members=2
	case $variant in
	no-file | late-file | several)
		said "ibsm asks the hosts to register again"
		join $members # as hosts do
		joined $OUT/before
		;;
	*)
		said "1 group, 2 members, 0 services, as before"
		same $OUT/before
		;;
	esac
	if [ $variant = plain ]; then # with several managers the file stays as it is
		grep -q '^# of the site$' $config && grep -qx "sa_db_file $dump" $config || fail "$(cat $config)"
	fi
fi

step "back to OpenSM, with one member more"
join 3
snapshot $OUT/before
paste $BACK
runs opensm && ! runs ibsm && is ibsm disabled inactive && is opensm enabled active || fail "opensm is $(systemctl show opensm)"
within 60 master || fail "OpenSM is not master"
if [ $variant = several ]; then
	join 3
	joined $OUT/before
else
	said "$dump: 1 group, 3 members"
	same $OUT/before
fi
step "as before"
