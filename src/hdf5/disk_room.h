/* disk_room.h - makes sure of room on the disk before a file is written: Open MPI 4.1 says that writing went well when
 * the disk was full, because the error of the one rank that writes for others is lost. */
#pragma once

#include <stdint.h>

#include <assay/status.h>

/* Takes room for a file of at least `promised` bytes, and of `more` bytes behind its present end, and `margin` beside.
 * Where the file system cannot reserve, something is written to each block in its place. ASSAY_EIO with the reason. */
int assay_disk_room_take(const char *path, uint64_t promised, uint64_t more, uint64_t margin, assay_error *err);
/* Gives back what was reserved behind the end. A file system that does not is no failure. */
void assay_disk_room_return(const char *path);
