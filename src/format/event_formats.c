/* event_formats.c - the list of the formats of events in time. */
#include "trial/event_format.h"

#define X(name) extern const assay_event_format assay_event_format_##name;
#include "format/event_formats.def"
#undef X

static const assay_event_format *const formats[] = {
#define X(name) &assay_event_format_##name,
#include "format/event_formats.def"
#undef X
};

const assay_event_format *assay_event_format_of(unsigned number)
{
    return formats[number];
}

unsigned assay_event_format_count(void)
{
    return sizeof formats / sizeof *formats;
}

void assay_event_formats_describe(assay_buf *out)
{
    for (unsigned i = 0; i < assay_event_format_count(); i++)
        assay_put_format(out, ", nor %s", formats[i]->what);
}
