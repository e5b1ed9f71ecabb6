/* file.h - HDF5 files as `assay pack` writes them, read without the HDF5 library. Inside storage only.
 *
 * A packed trial may come from anybody, and the library that reads every HDF5 file there can be follows links and
 * external storage into other files, loads filters, believes sizes, and leaks or crashes on damage. What packing makes
 * of the format is little: that is read here, and everything else is refused. Every block of metadata is checked
 * against its checksum. One reader follows the specification of HDF5's file format, version 3.0:
 *
 *   file     the superblock, and blocks with their signature and checksum
 *   object   object headers: links, attributes, and what a data set says of itself
 *   links    the links of a group that has many: a fractal heap, named by a B-tree
 *   dataset  rows, out of contiguous bytes or chunks */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <assay/pack.h>
#include <assay/status.h>

#define ASSAY_H5_NOWHERE UINT64_MAX /* the address of an object that does not exist */

typedef struct assay_h5 {
    /* Reads exactly [at, at + size), which is inside of the file. */
    int (*read)(void *context, uint64_t at, void *bytes, size_t size, assay_error *err);
    void *context;
    uint64_t size;     /* bytes of the file */
    uint64_t end;      /* where it ends, as it says itself: no more than size */
    const char *where; /* its name, for messages; borrowed */
    uint64_t root;     /* the object header of the root group */
} assay_h5;

/* Reads the superblock; the other fields are given. ASSAY_EFORMAT (no HDF5, damaged, cut short), ASSAY_EUNSUPPORTED
 * (none that packing wrote), ASSAY_EIO, ASSAY_ENOMEM: so fail all calls of this folder. */
int assay_h5_open(assay_h5 *file, assay_error *err);

/* ASSAY_EFORMAT: a part of it is damaged. */
int assay_h5_damaged(const assay_h5 *file, const char *what, assay_error *err);
/* ASSAY_EUNSUPPORTED: it has something that packing does not write. */
int assay_h5_foreign(const assay_h5 *file, const char *what, assay_error *err);

/* Reads [at, at + size); what lies outside of the file is damage of `what`. */
int assay_h5_read(const assay_h5 *file, uint64_t at, void *bytes, size_t size, const char *what, assay_error *err);
/* Reads a block of so many bytes into `room`, whose checksum is its last four; *body is what is between the signature
 * and the checksum. */
int assay_h5_block(const assay_h5 *file, uint64_t at, size_t size, const char *signature, assay_buf *room,
                   assay_cursor *body, const char *what, assay_error *err);
/* Is that the checksum of the bytes? The one of metadata is Bob Jenkins' lookup3. */
bool assay_h5_is_sound(const uint8_t *bytes, size_t size, uint32_t said);
/* A little-endian number of so many bytes, at most 8. */
uint64_t assay_h5_number(assay_cursor *in, unsigned bytes);
