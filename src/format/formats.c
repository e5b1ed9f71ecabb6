/* formats.c - the list of formats. Programs that test formats of their own compile it with a list of theirs. */
#include "trial/trial_format.h"
#include "topology/assembled.h"

#ifndef ASSAY_FORMAT_LIST
#define ASSAY_FORMAT_LIST "format/formats.def"
#endif

#define X(name) extern const assay_trial_format assay_format_##name;
#include ASSAY_FORMAT_LIST
#undef X

static const assay_trial_format *const formats[] = {
#define X(name) &assay_format_##name,
#include ASSAY_FORMAT_LIST
#undef X
};
_Static_assert(sizeof formats / sizeof *formats <= ASSAY_FORMATS_MOST, "a catalog has room for all formats");

const assay_trial_format *assay_format_of(unsigned number)
{
    return number == ASSAY_FORMAT_ASSEMBLED ? &assay_format_assembled : formats[number];
}

unsigned assay_format_count(void)
{
    return sizeof formats / sizeof *formats;
}

const assay_dict *assay_format_places(const assay_trial_format *format, const assay_catalog *catalog)
{
    for (unsigned i = 0; i < assay_format_count(); i++)
        if (formats[i] == format)
            return catalog->places[i];
    return NULL;
}
