package torus

// How switches are found: the switches known around a cube of eight cells, or a square of four, lead to
// one more. Corners are numbered by bits: 1 for the far one in x, 2 in y, 4 in z.

// step finds the switch of one more corner from three known ones, which are linked in a row. As the
// fourth corner of their face it is next to the first and the last. If base is set it is next to
// the middle one, away from the face: the link that goes on there in a straight line must be known,
// so that it is not taken for this one.
type step struct {
	known [3]int // a square has two: the first and the middle one
	to    int
	away  bool
}

// steps are by known corners: a bit for each that is missing.
type steps map[uint8][]step

// The rows of these tables are OpenSM's rules and their order, on which it depends which switch is
// taken where damage leaves a choice. "231" is the fourth corner of the face with corners 2, 3 and
// 1, "576/3" is corner 3, away from it behind the middle one, 7.
var (
	cubeSteps = newSteps(map[uint8]string{
		0x01: "231", 0x02: "045", 0x03: "264 375", 0x04: "046", 0x05: "154 376", 0x07: "375 376",
		0x08: "201", 0x0a: "045 267", 0x0b: "264 267", 0x0c: "046 157", 0x0d: "154 157", 0x0e: "045 046",
		0x0f: "576/3 467/2 457/1 546/0", 0x10: "015", 0x11: "132 576", 0x13: "375 576", 0x15: "376 576",
		0x17: "675 375 376", 0x1f: "576/3", 0x20: "104", 0x22: "023 467", 0x23: "264 467", 0x2a: "267 467",
		0x2b: "467 264 267", 0x2f: "467/2", 0x30: "026 137", 0x31: "132 137", 0x32: "023 026",
		0x33: "673/5 267/4 237/1 623/0", 0x37: "673/5", 0x3b: "267/4", 0x40: "204", 0x44: "013 457",
		0x45: "154 457", 0x4c: "157 457", 0x4d: "457 154 157", 0x4f: "457/1", 0x50: "015 237", 0x51: "132 237",
		0x54: "013 015", 0x55: "573/6 157/4 137/2 513/0", 0x57: "573/6", 0x5d: "157/4", 0x70: "137 237",
		0x71: "231 731 732", 0x73: "237/1", 0x75: "137/2", 0x80: "645", 0x88: "102 546", 0x8a: "045 546",
		0x8c: "046 546", 0x8e: "546 045 046", 0x8f: "546/0", 0xa0: "401 623", 0xa2: "023 623", 0xa8: "102 401",
		0xaa: "462/7 046/5 026/3 402/1", 0xab: "462/7", 0xae: "046/5", 0xb0: "026 623", 0xb2: "023 623 620",
		0xb3: "623/0", 0xba: "026/3", 0xc0: "402 513", 0xc4: "013 513", 0xc8: "102 402",
		0xcc: "451/7 045/6 015/3 401/2", 0xcd: "451/7", 0xce: "045/6", 0xd0: "015 513", 0xd4: "013 510 513",
		0xd5: "513/0", 0xdc: "015/3", 0xe0: "401 402", 0xe8: "102 104 204", 0xea: "402/1", 0xec: "401/2",
		0xf0: "132/7 023/6 013/5 102/4", 0xf1: "132/7", 0xf2: "023/6", 0xf4: "013/5", 0xf8: "102/4",
	})
	squareSteps = newSteps(map[uint8]string{
		0x1: "132", 0x2: "023", 0x3: "32/0 23/1", 0x4: "013", 0x5: "31/0 13/2", 0x8: "102", 0xa: "20/1 02/3",
		0xc: "10/2 01/3",
	})
)

// newSteps reads a table.
func newSteps(rows map[uint8]string) steps {
	table := steps{}
	for missing, row := range rows {
		for len(row) > 0 {
			s, n := step{}, 0
			for ; n < len(row) && row[n] >= '0' && row[n] <= '7'; n++ {
				s.known[n] = int(row[n] - '0')
			}
			s.to = s.known[0] ^ s.known[1] ^ s.known[2]
			if n < len(row) && row[n] == '/' {
				s.to, s.away = int(row[n+1]-'0'), true
				n += 2
			}
			table[missing] = append(table[missing], s)
			row = row[min(n+1, len(row)):]
		}
	}
	return table
}

// in maps a step of a square to the corners of a cube: the square lies in the plane of two
// dimensions.
func (s step) in(u, v int) step {
	corner := func(c int) int { return c&1<<u | c>>1<<v }
	for i := range s.known {
		s.known[i] = corner(s.known[i])
	}
	s.to = corner(s.to)
	return s
}
