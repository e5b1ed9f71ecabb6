/* format.c - the list of formats. */
#include "trial/format/format.h"

#define X(name) extern const assay_format assay_format_##name;
#include "trial/format/formats.def"
#undef X

static const assay_format *const formats[] = {
#define X(name) &assay_format_##name,
#include "trial/format/formats.def"
#undef X
};
_Static_assert(sizeof formats / sizeof *formats <= ASSAY_FORMATS_MOST, "a catalog has room for all formats");

const assay_format *assay_format_of(unsigned number)
{
    return formats[number];
}

unsigned assay_format_count(void)
{
    return sizeof formats / sizeof *formats;
}
