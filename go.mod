module ibsm

go 1.26
