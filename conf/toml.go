package conf

func readTOML(f *File, src []byte) {}
