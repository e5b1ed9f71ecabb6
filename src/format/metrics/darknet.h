/* darknet.h - what Darknet prints of an iteration, numbers before their names. */
#pragma once

#include "format/metrics/pairs.h"

/* Takes "100: 1.5, 1.75 avg loss, 0.001 rate, 3.1 seconds, 6400 images, 10.1 hours left": step 100, loss, avg loss, rate,
 * seconds, images. False: the line is another one. */
bool metrics_darknet_take(metrics_pairs *pairs, const char *line, size_t length);
