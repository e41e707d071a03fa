"""What benchmarks/pmdk_maps.py makes of PMDK's example."""

from __future__ import annotations

import pytest
from pmdk_maps import change

EXAMPLE = """#include <stdio.h>
#define MAX_INSERTS 500
static int insert(int nops)
{
	TX_BEGIN(mapc->pop) {
		map_create(mapc, 0);

		/* insert all */
		for (int i = 0; i < nops; ++i)
			map_insert(mapc, rand());
	} TX_ONABORT {
		aborted = 1;
	} TX_END
	return aborted;
}
int main(void) { srand((unsigned)time(NULL)); }
"""
CHANGED = """#include <pmemsim/pm.h>
#include <stdio.h>
#define MAX_INSERTS 512
static int insert(int nops)
{
	map_create(mapc, 0); pm_roi_begin(); for (int i = 0; i < nops; ++i) TX_BEGIN(mapc->pop) {
			map_insert(mapc, rand());
	} TX_ONABORT {
		aborted = 1;
	} TX_END
	pm_roi_end(); exit(aborted);
}
int main(void) { srand(0); }
"""


def test_each_insertion_becomes_a_transaction() -> None:
    assert change(EXAMPLE) == CHANGED


def test_another_version_of_the_example_is_refused() -> None:
    with pytest.raises(SystemExit, match="another version's"):
        change(EXAMPLE.replace("/* insert all */", "insert_all();"))
