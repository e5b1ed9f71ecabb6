/* board.h - TensorBoard's files: scalars of the scalar collections and histograms of the others, one file a mode.
 *
 * Histograms of a collection that keeps statistics are written in any case: the format has no other place for them.
 * TensorBoard follows files that grow, so these are appended to, a step at a time, and never renamed. */
#pragma once

#include "hook/output.h"

/* Sets up TensorBoard's part of *out; off unless the configuration asks for it. 0 or ASSAY_ENOMEM; release
 * either way. */
int hook_board_init(hook_output *out);
void hook_board_release(hook_output *out);
/* Does TensorBoard show anything of an item of numbers? */
bool hook_board_wants(const hook_output *out, const hook_item *item);
/* Takes what TensorBoard shows of such an item, whose statistics are `stats`. */
void hook_board_item(hook_output *out, const hook_item *item, const assay_stats *stats);
/* Appends what was taken, or forgets it when the step could not be written. A failure turns TensorBoard off with a
 * warning. */
void hook_board_close_step(hook_output *out, bool written);
