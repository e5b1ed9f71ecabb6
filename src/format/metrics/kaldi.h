/* kaldi.h - what Kaldi's trainings of neural networks (nnet3) print of some minibatches. */
#pragma once

#include "format/metrics/pairs.h"

/* Takes "LOG (nnet3-train...) Average objective function for 'output' for minibatches 10-19 is -0.56 + -0.01 = -0.57 over
 * 64000 frames.": iteration 19, "objective function of output" -0.57, the sum of its parts. False: the line is another one. */
bool metrics_kaldi_take(metrics_pairs *pairs, const char *line, size_t length);
