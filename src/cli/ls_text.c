/* ls_text.c - a trial's overview as text. */
#include <inttypes.h>
#include <string.h>

#include "base/fault.h"
#include "cli/overview.h"
#include "report/report.h"
#include "report/text/layout.h"

static void put_collections(const overview *o, const assay_draw *draw, assay_buf *out)
{
    static const char *const heads[] = {"collection", "tensors", "patterns"};
    const assay_collections *all = &o->files->catalog.collections;
    assay_table table;
    if (all->count == 0)
        return;
    assay_table_init(&table, "ere", heads);
    for (size_t i = 0; i < all->count; i++) {
        const assay_collection *c = &all->list[i];
        size_t members = 0;
        assay_buf patterns;
        for (uint32_t t = 0; t < assay_dict_count(o->files->tensors); t++)
            members += o->member[i][t];
        assay_buf_init(&patterns, ASSAY_REPORT_CEILING);
        for (size_t r = 0; r < c->regexes; r++)
            assay_put_format(&patterns, "%s%s", r ? "  " : "", c->regex[r]);
        assay_put_u8(&patterns, '\0');
        assay_table_cell(&table, c->name);
        assay_table_format(&table, "%zu", members);
        assay_table_cell(&table, assay_buf_status(&patterns) == ASSAY_OK ? (const char *)patterns.data : "?");
        assay_buf_release(&patterns);
    }
    assay_report_put_heading(out, "Collections");
    assay_table_put(&table, 0, draw, out);
    assay_table_release(&table);
}

static void put_saved(const overview *o, const overview_tensor *t, assay_table *table)
{
    assay_buf saved;
    assay_buf_init(&saved, ASSAY_REPORT_CEILING);
    if (t->raw)
        assay_put_format(&saved, "values");
    for (int k = 0; k < ASSAY_KINDS; k++) {
        if (t->reductions & 1u << k)
            assay_put_format(&saved, "%s%s", saved.size ? " " : "", assay_recording_kind_name(k));
    }
    if (saved.size == 0 && t->same_as != ASSAY_NO_ID)
        assay_put_format(&saved, "as %s", assay_dict_name(o->files->tensors, t->same_as, NULL));
    else if (saved.size == 0)
        assay_put_format(&saved, t->promised ? "cannot be read" : "shape");
    assay_put_u8(&saved, '\0');
    assay_table_cell(table, assay_buf_status(&saved) == ASSAY_OK ? (const char *)saved.data : "?");
    assay_buf_release(&saved);
}

static void put_shape_cell(const overview_tensor *t, assay_table *table)
{
    assay_buf shape;
    assay_buf_init(&shape, 4096);
    if (t->dims >= 0)
        cli_put_shape(&shape, t->shape, t->dims);
    assay_put_u8(&shape, '\0');
    assay_table_cell(table, assay_buf_status(&shape) == ASSAY_OK ? (const char *)shape.data : "?");
    assay_buf_release(&shape);
}

static void put_tensors(const overview *o, const assay_draw *draw, assay_buf *out)
{
    static const char *const heads[] = {"tensor", "dtype", "shape", "steps", "saved"};
    assay_table table;
    assay_table_init(&table, "elere", heads);
    for (uint32_t i = 0; i < assay_dict_count(o->files->tensors); i++) {
        const overview_tensor *t = &o->tensor[i];
        size_t length;
        const char *name = assay_dict_name(o->files->tensors, i, &length);
        assay_table_cell_n(&table, name, length);
        assay_table_cell(&table, t->dtype >= 0 ? assay_dtype_name(t->dtype) : "-");
        put_shape_cell(t, &table);
        assay_table_format(&table, "%" PRIu64, t->steps);
        put_saved(o, t, &table);
    }
    assay_report_put_heading(out, "Tensors");
    assay_table_put(&table, 0, draw, out);
    assay_table_release(&table);
}

/* What is no tensor: how much there is, or all of it. */
static void put_others(const overview *o, const assay_draw *draw, assay_buf *out)
{
    static const char *const heads[] = {"no tensor", "kind", "steps", "last value"};
    const uint32_t count = o->others.paths ? assay_dict_count(o->others.paths) : 0;
    assay_table table;
    if (count == 0)
        return;
    if (!o->all) {
        assay_put_format(out, "%" PRIu32 " more value%s %s no tensor%s: --all lists %s.\n", count, assay_plural(count),
                         count == 1 ? "is" : "are", assay_plural(count), count == 1 ? "it" : "them");
        return;
    }
    assay_table_init(&table, "elre", heads);
    for (uint32_t i = 0; i < count; i++) {
        size_t length = 0;
        const char *path = assay_dict_name(o->others.paths, i, &length);
        assay_table_cell_n(&table, path, length);
        assay_table_cell(&table, o->others.list[i].kind);
        assay_table_format(&table, "%" PRIu64, o->others.list[i].steps);
        assay_table_cell(&table, o->others.list[i].value);
    }
    assay_report_put_heading(out, "Beside tensors");
    assay_table_put(&table, 0, draw, out);
    assay_table_release(&table);
}

int overview_put_text(const overview *o, const assay_draw *draw, assay_buf *out)
{
    assay_report_put_head(&o->outcome, draw, out);
    put_collections(o, draw, out);
    if (o->writers == 0 || assay_dict_count(o->files->tensors) > 0)
        put_tensors(o, draw, out);
    put_others(o, draw, out);
    overview_put_events(o, draw, out);
    assay_report_put_completeness(&o->outcome, draw, out);
    assay_report_put_problems(&o->outcome, draw, out);
    return assay_buf_status(out);
}
