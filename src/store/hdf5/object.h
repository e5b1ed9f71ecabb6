/* object.h - object headers: the messages that say what a group or a data set is. */
#pragma once

#include "store/hdf5/file.h"

typedef enum assay_h5_kind { /* of messages */
                             ASSAY_H5_SPACE = 0x01,
                             ASSAY_H5_LINK_INFO = 0x02,
                             ASSAY_H5_TYPE = 0x03,
                             ASSAY_H5_LINK = 0x06,
                             ASSAY_H5_EXTERNAL = 0x07,
                             ASSAY_H5_LAYOUT = 0x08,
                             ASSAY_H5_FILTERS = 0x0b,
                             ASSAY_H5_ATTRIBUTE = 0x0c,
                             ASSAY_H5_CONTINUATION = 0x10
} assay_h5_kind;

/* One message of a header; another status than ASSAY_OK ends the walk and is its result. */
typedef int assay_h5_visit(void *context, const assay_h5 *file, unsigned kind, assay_cursor body, assay_error *err);
int assay_h5_messages(const assay_h5 *file, uint64_t header, assay_h5_visit *visit, void *context, assay_error *err);

/* A link of a group: the name, not terminated, and the header that it leads to. Soft and external links are refused. */
typedef int assay_h5_link_visit(void *context, const char *name, size_t length, uint64_t header, assay_error *err);
int assay_h5_links(const assay_h5 *file, uint64_t group, assay_h5_link_visit *visit, void *context, assay_error *err);
/* One link, as it is encoded. */
int assay_h5_link(const assay_h5 *file, assay_cursor body, assay_h5_link_visit *visit, void *context, assay_error *err);
/* The header of the object of that name in a group: 1, 0 when there is none, or negative. */
int assay_h5_find(const assay_h5 *file, uint64_t group, const char *name, uint64_t *header, assay_error *err);

/* A number of 8 bytes, or a text, that an object has as an attribute: 1, 0 when it has none of that name and form, or
 * negative. The text is terminated; one that does not fit counts as none. */
int assay_h5_attribute_number(const assay_h5 *file, uint64_t header, const char *name, uint64_t *value,
                              assay_error *err);
int assay_h5_attribute_text(const assay_h5 *file, uint64_t header, const char *name, char *text, size_t room,
                            assay_error *err);
