/* compare_tensors_json.c - what assay compare --tensors --json prints. */
#include <inttypes.h>

#include "cli/compare_tensors.h"
#include "report/report.h"

static void put_number(assay_buf *out, const char *key, double value)
{
    assay_put_format(out, ", \"%s\": ", key);
    assay_json_put_number(out, value);
}

static void put_pair(const assay_diff *d, const assay_diff_pair *p, assay_buf *out)
{
    static const char *const states[] = {"compared", "shape", "unread"};
    const assay_diff_figures *f = &p->figures;
    assay_put_format(out, "{\"step\": %" PRId64 ", \"worker\": ", p->step);
    assay_json_put_text(out, d->a.catalog.worker[p->worker]);
    assay_put_format(out, ", \"other_worker\": ");
    assay_json_put_text(out, d->b.catalog.worker[p->other_worker]);
    assay_put_format(out, ", \"tensor\": ");
    assay_json_put_text(out, p->name_a);
    assay_put_format(out, ", \"other\": ");
    assay_json_put_text(out, p->name_b);
    assay_put_format(out, ", \"state\": \"%s\"", states[p->state]);
    if (p->state == ASSAY_DIFF_UNREAD) {
        assay_put_format(out, ", \"text\": ");
        assay_json_put_text(out, p->text ? p->text : "");
    } else {
        assay_put_format(out, ", \"dtypes\": [\"%s\", \"%s\"], \"shapes\": [", assay_dtype_name(p->dtype_a),
                         assay_dtype_name(p->dtype_b));
        cli_put_shape(out, p->shape_a, p->dims_a);
        assay_put_format(out, ", ");
        cli_put_shape(out, p->shape_b, p->dims_b);
        assay_put_format(out, "]");
    }
    if (p->state == ASSAY_DIFF_COMPARED) {
        assay_put_format(out, ", \"elements\": %" PRIu64 ", \"unequal\": %" PRIu64 ", \"apart\": %" PRIu64, f->elements,
                         f->unequal, f->apart);
        assay_put_format(out, ", \"first\": {\"element\": %" PRIu64 ", \"values\": [", f->first);
        assay_json_put_number(out, f->first_a);
        assay_put_format(out, ", ");
        assay_json_put_number(out, f->first_b);
        assay_put_format(out, "]}");
        put_number(out, "largest", f->largest);
        put_number(out, "relative", f->relative);
        put_number(out, "cosine", assay_diff_cosine(f));
    }
    assay_put_format(out, "}");
}

static void put_json_singles(const assay_diff_singles *singles, const char *key, assay_buf *out)
{
    assay_put_format(out, ",\n  \"%s\": [", key);
    for (size_t i = 0; i < singles->count; i++) {
        assay_put_format(out, "%s\n    {\"step\": %" PRId64 ", \"tensor\": ", i ? "," : "", singles->list[i].step);
        assay_json_put_text(out, singles->list[i].name);
        assay_put_format(out, "}");
    }
    assay_put_format(out, "]");
}

static void put_json_steps(const int64_t *steps, size_t count, const char *key, assay_buf *out)
{
    assay_put_format(out, ",\n  \"%s\": [", key);
    for (size_t i = 0; i < count; i++)
        assay_put_format(out, "%s%" PRId64, i ? ", " : "", steps[i]);
    assay_put_format(out, "]");
}

void tensors_put_json(const assay_diff *d, const tensors_summary *s, assay_buf *out)
{
    size_t count = 0;
    assay_put_format(out, "{\n  \"schema\": \"assay-tensors/1\",\n  \"verdict\": \"%s\",\n  \"trials\": [",
                     tensors_verdict(s));
    assay_json_put_text(out, assay_store_location(d->a.store));
    assay_put_format(out, ", ");
    assay_json_put_text(out, assay_store_location(d->b.store));
    assay_put_format(out, "],\n  \"tensors\": %zu,\n  \"steps\": %zu,\n  \"bytes\": %" PRIu64 ",\n  \"differences\": [",
                     d->pairs, d->steps, d->bytes);
    for (size_t i = 0; i < d->pairs; i++)
        if (tensors_differ(&d->pair[i])) {
            assay_put_format(out, count++ ? ",\n    " : "\n    ");
            put_pair(d, &d->pair[i], out);
        }
    assay_put_format(out, "]");
    put_json_singles(&d->only_a, "only_in_first", out);
    put_json_singles(&d->only_b, "only_in_second", out);
    put_json_steps(d->steps_a, d->steps_only_a, "steps_only_in_first", out);
    put_json_steps(d->steps_b, d->steps_only_b, "steps_only_in_second", out);
    assay_put_format(out, ",\n  \"problems_in_first\": [");
    cli_put_json_problems(&d->a.problems, out);
    assay_put_format(out, "],\n  \"problems_in_second\": [");
    cli_put_json_problems(&d->b.problems, out);
    assay_put_format(out, "]");
    assay_put_format(out, "\n}\n");
}
