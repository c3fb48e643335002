package qos

// full has every section and keyword, as OpenSM's manual shows them.
const full = `# a comment
port-groups

    port-group # using port GUIDs
        name: Storage
        use: SRP Targets, 2 of them: # comment
        port-guid: 0x10000000000001, 0x10000000000005-0x1000000000FFFA
        port-guid: 0x1000000000FFFF
    end-port-group

    port-group
        name: Virtual Servers
        port-name: "vs1 HCA-1/P1", "vs2 HCA-1/P2"
    end-port-group

    port-group
        name: Partitions
        partition: Part1
        pkey: 0x1234,0x1-0x8009
    end-port-group

    port-group
        name: CAs and SM
        node-type: CA, self
    end-port-group

end-port-groups

qos-setup
    vlarb-tables
        vlarb-scope
            group: Storage
            across: Partitions
            vlarb-high: 0:255,1:127
            vlarb-low: 8:255,9:127
            vl-high-limit: 10
        end-vlarb-scope
    end-vlarb-tables
    sl2vl-tables
        sl2vl-scope
            group: Partitions
            across: Storage
            across-from: Storage
            across-to: Storage
            from: *
            to: 1,5-7
            sl2vl-table: 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,7
        end-sl2vl-scope
    end-sl2vl-tables
end-qos-setup

qos-levels
    qos-level
        name: DEFAULT
        use: default QoS Level
        sl: 0
    end-qos-level
    qos-level
        name: Whole Set
        sl: 1
        mtu-limit: 4
        rate-limit: 5
        pkey: 0x1234
        packet-life: 8
        path-bits: 2,4,
            8-32
    end-qos-level
end-qos-levels

qos-match-rules
    qos-match-rule
        use: by QoS class
        qos-class: 7-9,11
        qos-level-name: wholeset
    end-qos-match-rule
    qos-match-rule
        use: Storage targets
        destination: storage
        service-id: 0x10000000000001, 0x10000000000008-0x10000000000FFF
        qos-level-name: WholeSet
    end-qos-match-rule
    qos-match-rule
        source: Virtual Servers, CAs and SM
        pkey: 0x0F00-0x0FFF
        qos-level-name: DEFAULT
    end-qos-match-rule
end-qos-match-rules

qos-ulps
    default : 0
    sdp, port-num 30000 : 0
    SDP, port-num 10000-20000 : 2
    sdp : 1
    rds : 2
    rds , port-num 25000 : 3
    iser, port-num 900 : 4
    iser : 3
    ipoib, pkey 0x0001 : 5
    ipoib : 4
    any, service-id 0x6234 : 6
    any, pkey 0x0ABC : 6
    srp, target-port-guid 0x1234,0x1235 : 5
    any, target-port-guid 0x0ABC-0xFFFFF : 6
    any, source-port-guid 0x5678 : 7
    any, source-target-port-guid 0x9abcd : 8
end-qos-ulps
`

// continued has keywords and values in unusual places.
const continued = "qos-levels qos-level name: \"DEFAULT\" # name\nuse: some\n words\nsl: 3 end-qos-level\nqos-level\nuse: x\n# comment\nname: B\nsl:\n4 end-qos-level end-qos-levels"

// levels is a section with levels DEFAULT and L1 and what else is written into it.
const levels = "qos-levels\nqos-level\nname: DEFAULT\nsl: 0\nend-qos-level\nqos-level\nname: L1\nsl: 1\nend-qos-level\nend-qos-levels\n"

// broken are files with errors, and what is said of the first.
var broken = []struct{ file, want string }{
	{"", "p:1: no level for requests that no rule matches"},
	{"# nothing\n", "p:1: no level for requests"},
	{": x\n", "p:1:1: unexpected \":\"; expected port-groups"},
	{"qos-ulps\n", "p:2:1: the file ends within qos-ulps, which begins in line 1; expected end-qos-ulps"},
	{"qos-ulps\n  default : 16\nend-qos-ulps\n", "p:2:13: 16 is out of range; expected 0 to 15"},
	{"qos-ulps\n  default 1\nend-qos-ulps\n", "p:2:11: expected ':' after default"},
	{"qos-ulps\n  default : x\nend-qos-ulps\n", `p:2:13: "x" is not a number of at most 64 bits`},
	{"qos-ulps\n default:0\n sdpp : 1\nend-qos-ulps\n",
		`p:3:2: unexpected "sdpp"; expected default, sdp, rds, iser, srp, ipoib, any or end-qos-ulps; did you mean sdp?`},
	{"qos-ulps\n default:0\n srp : 1\nend-qos-ulps\n", "p:3:6: expected ', ' and target-port-guid after srp"},
	{"qos-ulps\n default:0\n any, port-num 1 : 1\nend-qos-ulps\n",
		`p:3:7: unexpected "port-num"; expected service-id, pkey, target-port-guid, source-port-guid or source-target-port-guid`},
	{"qos-ulps\n default:0\n sdp, port-num 70000 : 1\nend-qos-ulps\n",
		"p:3:16: 0x11170 is too large; expected at most 0xffff"},
	{"qos-ulps\n default:0\n sdp, port-num 1-70000 : 1\nend-qos-ulps\n",
		"p:3:18: 0x11170 is too large; expected at most 0xffff"},
	{"qos-ulps\n default:0\n any, service-id 0x10000000000000000 : 1\nend-qos-ulps\n",
		`p:3:18: "0x10000000000000000" is not a number of at most 64 bits`},
	{"qos-ulps\n default:0\n any, service-id 1 2\nend-qos-ulps\n", "p:3:20: expected ':' and the SL"},
	{"qos-level\n", `p:1:1: unexpected "qos-level"; expected port-groups, qos-setup, qos-levels, qos-match-rules or qos-ulps; did you mean qos-levels?`},
	{"qos-levels\nqos-level\nname: DEFAULT\nsl: 16\nend-qos-level\nend-qos-levels\n",
		"p:4:5: 16 is out of range; expected 0 to 15"},
	{"qos-levels\nqos-level\nname: DEFAULT\nend-qos-level\nend-qos-levels\n", "p:2:1: qos-level without sl"},
	{"qos-levels\n  qos-level\nsl: 1\nend-qos-level\nend-qos-levels\n", "p:2:3: qos-level without name"},
	{"qos-levels\nqos-level\nname: DEFAULT\nsl: 1\nsl: 2\nend-qos-level\nend-qos-levels\n",
		"p:5:1: sl stands here twice"},
	{"qos-levels\nqos-level\nname: DEFAULT\nsl: 1\nmtu-limit: 6\nend-qos-level\nend-qos-levels\n",
		"p:5:12: 6 is out of range; expected 1 to 5"},
	{"qos-levels\nqos-level\nname: DEFAULT\nsl: 1\nrate-limit: 1\nend-qos-level\nend-qos-levels\n",
		"p:5:13: 1 is out of range; expected 2 to 26"},
	{"qos-levels\nqos-level\nname: DEFAULT\nsl: 1\npacket-life: 64\nend-qos-level\nend-qos-levels\n",
		"p:5:14: 64 is out of range; expected 0 to 63"},
	{"qos-levels\nqos-level\nname: DEFAULT\nsl 1\nend-qos-level\nend-qos-levels\n", "p:4:4: expected ':' after sl"},
	{"qos-levels\nqos-level\nname: DEFAULT\nsls: 1\nend-qos-level\nend-qos-levels\n",
		`p:4:1: unexpected "sls"; expected name, use, sl, mtu-limit, rate-limit, packet-life, path-bits, pkey or end-qos-level; did you mean sl?`},
	{"qos-levels\nqos-level\nname: A,B\nsl: 1\nend-qos-level\nend-qos-levels\n",
		`p:3:7: "A,B": expected one name, without a comma`},
	{"qos-levels\nqos-level\nname: DEFAULT\nsl: 1\n",
		"p:5:1: the file ends within qos-level, which begins in line 2; expected end-qos-level"},
	{levels + "qos-match-rules\nqos-match-rule\nqos-level-name: L2\nend-qos-match-rule\nend-qos-match-rules\n",
		`p:13:17: no qos-level has the name "L2"; did you mean l1?`},
	{levels + "qos-match-rules\nqos-match-rule\nuse: x\nend-qos-match-rule\nend-qos-match-rules\n",
		"p:12:1: qos-match-rule without qos-level-name"},
	{levels + "qos-match-rules\nqos-match-rule\nsource: A, B\nqos-level-name: L1\nend-qos-match-rule\nend-qos-match-rules\n", `p:13:9: no port-group has the name "A"`},
	{levels + "qos-match-rules\nqos-match-rule\nqos-class: 0x1000\nqos-level-name: L1\nend-qos-match-rule\nend-qos-match-rules\n", "p:13:12: 0x1000 is too large; expected at most 0xfff"},
	{levels + "port-groups\nport-group\nname: A\nend-port-groups\n",
		`p:14:1: unexpected "end-port-groups"; expected name, use, port-guid`},
	{levels + "port-groups\nport-group\nuse: A\nend-port-group\nend-port-groups\n",
		"p:12:1: port-group without a name"},
	{levels + "port-groups\nport-group\nname: A\nnode-type: HCA\nend-port-group\nend-port-groups\n",
		`p:14:12: "HCA" is not a type of node; expected CA, SWITCH, ROUTER, ALL or SELF; did you mean CA?`},
	{levels + "port-groups\nport-group\nname: A\nport-name: host1\nend-port-group\nend-port-groups\n",
		`p:14:12: "host1" is not the name of a port`},
	{levels + "port-groups\nport-group\nname: A\nport-name: host1/P0\nend-port-group\nend-port-groups\n",
		`p:14:12: "host1/P0" is not the name of a port`},
	{levels + "qos-setup\nsl2vl-tables\nsl2vl-scope\ngroup: A\nsl2vl-table: 0,1\nend-sl2vl-scope\nend-sl2vl-tables\nend-qos-setup\n", "p:15:1: 2 VLs; expected 16, one for each SL"},
	{levels + "qos-setup\nvlarb-tables\nvlarb-scope\nvlarb-high: 0:1\nend-vlarb-scope\nend-vlarb-tables\nend-qos-setup\n", "p:13:1: vlarb-scope without group and across"},
	{levels + "port-groups\nport-group\nname: A\nunion-rule: B\nend-port-group\nport-group\nname: B\nunion-rule: A\nend-port-group\nend-port-groups\n", `p:18:1: port-group "A" contains itself through "B"`},
	{levels + "\x00", "p:11:1: a byte 0: this is not a text file"},
}

// dubious are files without errors, and what is warned of.
var dubious = []struct{ file, want string }{
	{"qos-ulps\n default:0\n any, pkey 9-7 : 1\nend-qos-ulps\n",
		"p:3:12: the range is reversed; it is read as 0x7-0x9"},
	{"qos-ulps\n default:010\nend-qos-ulps\n", "p:2:10: 010 is read as an octal number, 8, because it begins with 0"},
	{"qos-ulps\r\n default:0\r\nend-qos-ulps\r\n", "p:1: line ends CR LF: OpenSM refuses the file"},
	{levels + "qos-setup end-qos-setup\n", "p:11:1: qos-setup has no effect, as in OpenSM"},
	{levels + "qos-ulps\n default:3\nend-qos-ulps\n",
		`p:12:2: default is never used: the qos-level "DEFAULT" of line 2 takes precedence`},
	{levels + levels, `p:12:1: qos-level "DEFAULT" is never used: that of line 2 has the same name`},
	{levels + "qos-match-rules\nqos-match-rule\nqos-level-name: L1\nend-qos-match-rule\nend-qos-match-rules\nqos-ulps\nsdp:1\nend-qos-ulps\n", "p:12:1: the rule matches every request: the 1 after it and the default level are never used"},
	{levels + "port-groups\nport-group\nname: A\nport-name: vs1 HCA-1/P1\nend-port-group\nend-port-groups\n",
		"p:14:12: \"vs1 HCA-1/P1\": OpenSM drops the blanks"},
	{levels + "port-groups\nport-group\nname: A\nport-regexp: ^leaf\nend-port-group\nend-port-groups\n",
		"p:14:1: port-regexp: OpenSM refuses the file; write the group into pgrp_policy_file"},
	{levels + "port-groups\nport-group\nname: A\nport-guid: 0x1, 0x2@3-4\nend-port-group\nend-port-groups\n",
		"p:14:20: '@' and ports: OpenSM refuses the file"},
	{levels + "port-groups\nport-group\nname: A\nport-name: hostname=a; port=1\nend-port-group\nend-port-groups\n",
		"p:14:12: hostname=: OpenSM refuses the file"},
	{levels + "port-groups\nport-group\nname: A\nunion-rule: ALL_CAS, ALL_SWITCHES\nend-port-group\nend-port-groups\n",
		"p:14:1: union-rule: OpenSM refuses the file"},
	{levels + "qos-match-rules\nqos-match-rule\nsource: ALL_CAS\nqos-level-name: L1\nend-qos-match-rule\nend-qos-match-rules\n", `p:13:9: port-group "ALL_CAS" is not in this file: OpenSM refuses the file`},
}
