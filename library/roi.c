/* The region of interest. A program contains this file's functions only if it calls them: the
 * recorder takes their presence to mean that the program selects what to measure. */
#include "marks.h"
#include "pmemsim/pm.h"

void pm_roi_begin(void) { mark(MARK_ROI_BEGIN, 0, 0); }
void pm_roi_end(void) { mark(MARK_ROI_END, 0, 0); }
