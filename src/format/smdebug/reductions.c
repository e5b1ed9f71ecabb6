/* reductions.c - names of saved reductions. */
#include "format/smdebug/reductions.h"

#include <assay/rule.h>

#include <assert.h>
#include <string.h>

#include "trial/names.h"

static const char *const reductions[] = {
#define REDUCTION_TEXT(name, text) text,
    ASSAY_REDUCTION_LIST(REDUCTION_TEXT)
#undef REDUCTION_TEXT
};

/* A kind is its place in the list, from 1; assay/rule.h names the same numbers. */
enum {
    BEFORE_FIRST,
#define REDUCTION_KIND(name, text) KIND_##name,
    ASSAY_REDUCTION_LIST(REDUCTION_KIND)
#undef REDUCTION_KIND
};
#define REDUCTION_CHECK(name, text) static_assert((int)KIND_##name == (int)ASSAY_##name, "kinds of assay/rule.h");
ASSAY_REDUCTION_LIST(REDUCTION_CHECK)
#undef REDUCTION_CHECK

static int reduction_kind(const char *word, size_t length)
{
    int absolute = 0;
    if (length > 4 && memcmp(word, "abs_", 4) == 0) {
        absolute = ASSAY_ABS;
        word += 4;
        length -= 4;
    }
    for (size_t i = 0; i < sizeof reductions / sizeof *reductions; i++)
        if (strlen(reductions[i]) == length && memcmp(reductions[i], word, length) == 0)
            return absolute + 1 + (int)i;
    return ASSAY_RAW;
}

int assay_reduction_split(const char *name, size_t length, const char **base, size_t *base_length)
{
    static const char prefix[] = "smdebug/reductions/", digest[] = "assay/digest/";
    const size_t skip = sizeof prefix - 1;
    *base = name;
    *base_length = length;
    if (length > sizeof digest - 1 && memcmp(name, digest, sizeof digest - 1) == 0) {
        *base = name + sizeof digest - 1;
        *base_length = length - (sizeof digest - 1);
        return ASSAY_DIGEST;
    }
    if (length <= skip || memcmp(name, prefix, skip) != 0)
        return ASSAY_RAW;
    const char *slash = memchr(name + skip, '/', length - skip);
    if (!slash || slash + 1 == name + length)
        return ASSAY_RAW;
    int kind = reduction_kind(name + skip, (size_t)(slash - name) - skip);
    if (kind != ASSAY_RAW) {
        *base = slash + 1;
        *base_length = length - (size_t)(slash + 1 - name);
    }
    return kind;
}
