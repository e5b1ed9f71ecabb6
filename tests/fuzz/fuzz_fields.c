/* Any bytes as a struct of another rank with every kind of member: refused and nothing kept, or a struct that packs
 * into the bytes it came from. */
#include <stdlib.h>
#include <string.h>

#include "base/fields.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum shade { SHADE_DARK, SHADE_LIGHT, SHADES };

typedef struct leaf {
    char *name;
    int64_t at;
} leaf;

typedef struct tree {
    uint8_t small;
    int16_t low;
    float single;
    double real;
    bool flag;
    enum shade shade;
    char *text;
    char title[8];
    uint32_t fixed[3];
    uint8_t dims;
    int64_t shape[8];
    uint16_t number_count;
    uint64_t *numbers;
    struct {
        size_t count;
        leaf *list;
    } leaves;
} tree;

static const assay_field leaf_fields[] = {ASSAY_FIELD(leaf, name), ASSAY_FIELD(leaf, at), {0}};
static const assay_field tree_fields[] = {ASSAY_FIELD(tree, small),
                                          ASSAY_FIELD(tree, low),
                                          ASSAY_FIELD(tree, single),
                                          ASSAY_FIELD(tree, real),
                                          ASSAY_FIELD(tree, flag),
                                          ASSAY_FIELD_MOST(tree, shade, SHADES - 1),
                                          ASSAY_FIELD(tree, text),
                                          ASSAY_FIELD_TEXT_IN(tree, title),
                                          ASSAY_FIELD_ARRAY(tree, fixed),
                                          ASSAY_FIELD_COUNTED(tree, shape, dims),
                                          ASSAY_FIELD_LIST(tree, numbers, number_count),
                                          ASSAY_FIELD_ROWS(tree, leaves.list, leaves.count, leaf_fields),
                                          {0}};

static void must(bool condition)
{
    if (!condition)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    tree t;
    memset(&t, 0, sizeof t);
    assay_cursor in = assay_cursor_over(data, size);
    const int status = assay_fields_unpack(tree_fields, &in, &t);
    must(status == ASSAY_OK || status == ASSAY_EFORMAT || status == ASSAY_ENOMEM);
    if (status != ASSAY_OK) {
        must(!t.text && !t.numbers && !t.leaves.list);
        must(status != ASSAY_EFORMAT || in.failed);
        return 0;
    }
    must(memchr(t.title, 0, sizeof t.title) && t.shade < SHADES && t.dims <= 8 &&
         in.at >= assay_fields_least(tree_fields));
    assay_buf again;
    assay_buf_init(&again, SIZE_MAX);
    assay_fields_pack(tree_fields, &t, &again);
    must(assay_buf_status(&again) == ASSAY_OK && again.size == in.at && memcmp(again.data, data, in.at) == 0);
    assay_buf_release(&again);
    assay_fields_release(tree_fields, &t);
    must(!t.text && !t.numbers && t.number_count == 0 && !t.leaves.list && t.leaves.count == 0);
    return 0;
}
