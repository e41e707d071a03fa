void put(unsigned long* at, unsigned long value) { *at = value; }
