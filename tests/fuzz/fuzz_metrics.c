/* Any bytes as the files of metric logs (src/format/metrics/): what fuzz_trial.c does with a trial, from a log of each
 * kind. The seeds are of make_seeds() in tests/support/logs.py. */
#include "fuzz_trial.c"
