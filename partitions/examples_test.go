package partitions

// examples are files in which something must be noticed. reason is the beginning of the
// warning that explains why OpenSM makes something else of it, "" where it does not.
var examples = []struct{ file, reason string }{
	{file: "Default=0x7fff : ALL=limited, SELF=full ;"},
	{file: "Default=0x7fff,ipoib : ALL=full ;"},
	{file: redHat},
	{file: "Default=0x7fff : ALL=full ;\nStorage=0x8010, ipoib, defmember=full : 0x100001, 0x100003=limited, 0x100005=both ;\n"},
	{file: "5 : 0x100001=full ;\n0x6, ipoib : ALL_CAS=full ;\n =0x7 : ALL=full;\n"},
	{file: "X=0x10 : ALL=full"},
	{file: ""},
	{file: "# only a comment\n"},
	{file: "X=0x10 : ALL=full ;\nY=zzz : ALL ;\nZ=0x20: ALL=full;\n"},
	{file: "X=0x10 : ALL=full ;\nZ=0x20 ALL=full;\n"},
	{file: "C= : SELF ;"},
	{file: "X=0x10,foo,ipo,def=full,rat=3 : AL, SEL=lim ;\nY=0x11:A=full;\nZ=0x12:ALL_C=full, 0xdead=full;\n"},
	{file: "X=0x10,indx0 : ALL=full ;"},
	{file: "X=0x11,indx0 : ALL=full ;\nY=0x10,indx0 : ALL=full;\n"},
	{file: "Y=0x10,indx0 : ALL=full ;\nX=0x11,indx0 : ALL=full;\n"},
	{file: "Y=0x10,indx0 : ALL=full ;\nX=0x11,indx0 : ALL=full;\nY=0x10,indx0 : SELF;\n"},
	{file: "X=0x10 : ALL=full ;\nX=0x11 : SELF=full ;\nQ=0x10 : 0x100003=limited ;\nX : 0x100005=full;\n"},
	{file: "X=0x0 : ALL=full ;\nY=0xffff : ALL=full;\nZ=0x18000 : SELF=full; W=0x1ffff: SELF ;\n"},
	{file: "Default=0x7fff : ALL=both, SELF=full ;\nX=0x10: ALL=both;\n"},
	{file: "S=0x10,ipoib : ALL=full ; mgid=ff12::5 ;"},
	{file: "S=0x10: ALL_VCAS;", reason: "ALL_VCAS"},
	{file: "S=0x10\n: ALL;"},
	{file: "S=0x10,sl=5,ipoib,mtu=5,rate=6,Q_Key=0x1234,TClass=7,FlowLabel=9,defmember=full: ALL,\nmgid=ff15::abcd,Q_Key=0x99,mtu=3,rate=2,scope=8,scope=5\nALL_SWITCHES;"},
	{file: "S=0x10,sl=5,ipoib,scope=5: ALL,\nmgid=ff15:401b::abcd,sl=3\nALL_SWITCHES;",
		reason: "OpenSM creates no broadcast group of scope"},
	{file: "S=0x10,ipoib: ALL,\nmgid=ff12:601b::5,rate=6\nSELF;"},
	{file: "T=0x11,ipoib,sl=2:SELF=full;\nU=0x12,ipoib,sl=4:SELF=full;"},
	{file: "T=0x11:SELF=full,mgid=fe80::1;"},
	{file: "S=0x10:SELF=full,mgid=ff12:401b:8011::77\nNONE;"},
	{file: "S=0x10:SELF=full,mgid=zz,sl=3;\nY=0x11:ALL=full;\n", reason: "OpenSM may continue to read after"},
	{file: "Default=0x7fff : 0x100003=full ;"},
	{file: "A=0x100: 0x100003=full;\nA=0x10: 0x100003=full;\nA: 0x100005=full;\n"},
	{file: "A=0x10: 1048579=full, 04000005=full, 0X100007=full;"},
	{file: "A=0x10: 0x100003x=full;"},
	{file: "A: ALL=full;\nB: ALL=full;\nC=2: ALL=full;\nA: 0x100003=limited;\n"},
	{file: "=0x10: ALL=full;\n: 0x100003=full;\n0010 = 0 : SELF=full;\n"},
	{file: "A=-1: ALL=full;"},
	{file: "A=0x1000000000000000010: ALL=full;"},
	{file: "A=0x10,ipoib,rate=400Gbps: ALL=full;", reason: "\""},
	{file: "A=0x10,ipoib,rate=23: ALL=full;", reason: "rate"},
	{file: "A=0x10,ipoib,rate=22: ALL=full;"},
	{file: "A=0x10: ALL=full;\n;\nB=0x11: ALL=full;\n", reason: "a ';' after nothing"},
	{file: "A=0x10: ALL=full\n;\n", reason: "a ';' at the start of a line"},
	{file: "A=0x10:\nALL=full,\nSELF\n; B=0x11:SELF=full;\n", reason: "a ';' at the start of a line"},
	{file: "A=0x10: ALL=full;\r\nB=0x11: ALL=full;\r\n", reason: "line ends CR LF"},
	{file: "A=0x10,ipoib: mgid=ff12::abcd   #rate=2,sl=6\n ALL=full;\n", reason: "OpenSM takes"},
	{file: "# rate = 7, rate = 7, sl=6, sl=6, sl=6, sl=6\nA=0x10: ALL\n mgid=ff12::abcd\n NONE;\n",
		reason: "OpenSM takes"},
	{file: "A=0x10:\nmgid=ff12::5,sl=1\nmgid=ff12::5,scope=5\nALL=full;\n", reason: "OpenSM makes no group of scope"},
	{file: "A=0x10:\nmgid=ff12::5,sl=1\nALL=full;\nB=0x11: ALL=full,\nmgid=ff15::5,sl=1\nSELF=full;\n",
		reason: "OpenSM may crash here"},
}

// redHat has the form of the file of the Red Hat guide to RDMA: two partitions, each in
// two statements.
const redHat = `# rate = 3 is 10 Gb/s, 7 is 40 Gb/s
Default=0x7fff, rate=3, mtu=4, scope=2, defmember=full:
    ALL, ALL_SWITCHES=full;
Default=0x7fff, ipoib, rate=3, mtu=4, scope=2:
    mgid=ff12:401b::ffff:ffff   # IPv4 Broadcast address
    mgid=ff12:401b::1           # IPv4 All Hosts group
    mgid=ff12:601b::1           # IPv6 All Hosts group
    mgid=ff12:601b::1:3         # IPv6 Multicast Link Local Name Resolution group
    ALL=full, ALL_SWITCHES=full;

ib0_2=0x0002, rate=7, mtu=4, scope=2, defmember=full:
        ALL, ALL_SWITCHES=full;
ib0_2=0x0002, ipoib, rate=7, mtu=4, scope=2:
    mgid=ff12:401b::ffff:ffff   # IPv4 Broadcast address
    mgid=ff12:401b::1           # IPv4 All Hosts group
    mgid=ff12:601b::1           # IPv6 All Hosts group
    mgid=ff12:601b::1:3         # IPv6 Multicast Link Local Name Resolution group
    ALL=full, ALL_SWITCHES=full;
`
