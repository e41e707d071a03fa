/* The region of interest. A file of its own, so that a program contains these functions only if it
 * calls them: the recorder takes their presence to mean that the program says what to measure. */
#include "marks.h"
#include "pmemsim/pm.h"

void pm_roi_begin(void) { mark(MARK_ROI_BEGIN, 0, 0); }
void pm_roi_end(void) { mark(MARK_ROI_END, 0, 0); }
