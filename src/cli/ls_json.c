/* ls_json.c - a trial's overview as JSON. */
#include <inttypes.h>
#include <string.h>

#include "cli/overview.h"

static void put_start(assay_buf *out, size_t i)
{
    assay_put_format(out, "%s\n  ", i ? "," : "");
}

static void put_tensor_name(const overview *o, uint32_t id, assay_buf *out)
{
    size_t length;
    const char *name = assay_dict_name(o->files->tensors, id, &length);
    assay_json_put_text_n(out, name, length);
}

static void put_steps(const overview *o, assay_buf *out)
{
    assay_put_format(out, ",\n \"steps\": [");
    for (size_t i = 0; i < o->info.step_count; i++) {
        const assay_step_info *step = &o->info.steps[i];
        put_start(out, i);
        assay_put_format(out, "{\"step\": %" PRId64 ", \"mode\": \"%s\", \"mode_step\": %" PRId64 "}", step->step,
                         assay_mode_name(step->mode), step->mode_step);
    }
    assay_put_u8(out, ']');
}

/* The members are what belongs to it; a pattern that does not compile, or gives up, is among the problems. */
static void put_members(const overview *o, size_t collection, assay_buf *out)
{
    bool any = false;
    for (uint32_t t = 0; t < assay_dict_count(o->files->tensors); t++) {
        size_t length;
        if (!o->member[collection][t])
            continue;
        const char *name = assay_dict_name(o->files->tensors, t, &length);
        assay_put_bytes(out, ", ", any ? 2 : 0);
        assay_json_put_text_n(out, name, length);
        any = true;
    }
}

static void put_collections(const overview *o, assay_buf *out)
{
    const assay_collections *all = &o->files->catalog.collections;
    assay_put_format(out, ",\n \"collections\": [");
    for (size_t i = 0; i < all->count; i++) {
        const assay_collection *c = &all->list[i];
        put_start(out, i);
        assay_put_format(out, "{\"name\": ");
        assay_json_put_text(out, c->name);
        assay_put_format(out, ", \"include_regex\": [");
        for (size_t r = 0; r < c->regexes; r++) {
            assay_put_bytes(out, ", ", r ? 2 : 0);
            assay_json_put_text(out, c->regex[r]);
        }
        assay_put_format(out, "], \"tensors\": [");
        put_members(o, i, out);
        assay_put_bytes(out, "]}", 2);
    }
    assay_put_u8(out, ']');
}

static void put_tensors(const overview *o, assay_buf *out)
{
    assay_put_format(out, ",\n \"tensors\": [");
    for (uint32_t t = 0; t < assay_dict_count(o->files->tensors); t++) {
        const overview_tensor *tensor = &o->tensor[t];
        put_start(out, t);
        assay_put_format(out, "{\"name\": ");
        put_tensor_name(o, t, out);
        assay_put_format(out, ", \"dtype\": ");
        if (tensor->dtype >= 0)
            assay_json_put_text(out, assay_dtype_name(tensor->dtype));
        else
            assay_put_format(out, "null");
        assay_put_format(out, ", \"shape\": ");
        if (tensor->dims >= 0)
            cli_put_shape(out, tensor->shape, tensor->dims);
        else
            assay_put_format(out, "null");
        assay_put_format(out, ", \"steps\": %" PRIu64 ", \"records\": %" PRIu64 ", \"reductions\": [", tensor->steps,
                         tensor->raw);
        bool any = false;
        for (int k = 0; k < ASSAY_KINDS; k++) {
            if (!(tensor->reductions & 1u << k))
                continue;
            assay_put_format(out, "%s\"%s\"", any ? ", " : "", assay_recording_kind_name(k));
            any = true;
        }
        assay_put_u8(out, ']');
        if (tensor->same_as != ASSAY_NO_ID) {
            assay_put_format(out, ", \"same_as\": ");
            put_tensor_name(o, tensor->same_as, out);
        }
        if (tensor->promised)
            assay_put_format(out, ", \"promised\": true");
        assay_put_u8(out, '}');
    }
    assay_put_u8(out, ']');
}

/* What is no tensor; a listing of --all alone has it. */
static void put_others(const overview *o, assay_buf *out)
{
    const uint32_t count = o->others.paths ? assay_dict_count(o->others.paths) : 0;
    if (!o->all)
        return;
    assay_put_format(out, ",\n \"others\": [");
    for (uint32_t i = 0; i < count; i++) {
        size_t length = 0;
        const char *path = assay_dict_name(o->others.paths, i, &length);
        put_start(out, i);
        assay_put_format(out, "{\"path\": ");
        assay_json_put_text_n(out, path, length);
        assay_put_format(out, ", \"kind\": \"%s\", \"steps\": %" PRIu64 ", \"value\": ", o->others.list[i].kind,
                         o->others.list[i].steps);
        assay_json_put_text(out, o->others.list[i].value);
        assay_put_u8(out, '}');
    }
    assay_put_u8(out, ']');
}

static void put_incomplete(const overview *o, assay_buf *out)
{
    char room[ASSAY_WORKER_ROOM];
    assay_put_format(out, ",\n \"incomplete\": [");
    for (size_t i = 0; i < o->outcome.incomplete_count; i++) {
        const assay_incomplete *step = &o->outcome.incomplete[i];
        put_start(out, i);
        assay_put_format(out, "{\"step\": %" PRId64 ", \"missing_workers\": [", step->step);
        for (uint32_t w = 0; w < step->missing_count; w++) {
            assay_put_bytes(out, ", ", w ? 2 : 0);
            assay_json_put_text(out, assay_worker_name(o->names, step->missing[w], room));
        }
        assay_put_u8(out, ']');
        if (step->unnamed > 0)
            assay_put_format(out, ", \"more_missing\": %" PRIu32, step->unnamed);
        assay_put_u8(out, '}');
    }
    assay_put_u8(out, ']');
}

int overview_put_json(const overview *o, assay_buf *out)
{
    const assay_catalog *catalog = &o->files->catalog;
    assay_put_format(out, "{\"schema\": \"assay-listing/1\",\n \"path\": ");
    assay_json_put_text(out, assay_store_location(o->files->store));
    assay_put_format(out, ",\n \"workers\": [");
    for (uint32_t w = 0; w < catalog->workers; w++) {
        assay_put_bytes(out, ", ", w ? 2 : 0);
        assay_json_put_text(out, catalog->worker[w]);
    }
    assay_put_format(out, "], \"expected_workers\": %" PRIu32 ", \"ended\": %s", catalog->expected_workers,
                     catalog->ended ? "true" : "false");
    put_steps(o, out);
    put_collections(o, out);
    put_tensors(o, out);
    overview_put_events_json(o, out);
    put_others(o, out);
    put_incomplete(o, out);
    assay_put_format(out, ",\n \"problems_total\": %" PRIu64 ", \"problems\": [", o->files->problems.total);
    cli_put_json_problems(&o->files->problems, out);
    assay_put_format(out, "]}\n");
    return assay_buf_status(out);
}
