/* tensorboard.c - scalars and histograms for TensorBoard. */
#include "hook/board.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/fault.h"
#include "base/file.h"
#include "base/path.h"
#include "base/log.h"
#include "hook/encode.h"
#include "hook/reduce.h"

enum { BOARD_CEILING = 1 << 26, TAG_ROOM = HOOK_NAME_LENGTH + 300, FILE_ROOM = 512 };

static bool is_on(const hook_output *out)
{
    return out->buckets != NULL;
}

/* All is exported, not the histograms of statistics alone. */
static bool exports_all(const hook_config *config)
{
    return config->export_tensorboard || config->tensorboard;
}

static bool shows_histogram(const hook_config *config, const hook_collection *c)
{
    return c->histogram && (exports_all(config) || c->reduce.form == HOOK_FORM_STATISTICS);
}

int hook_board_init(hook_output *out)
{
    for (int m = 0; m < HOOK_MODES; m++) {
        out->board_file[m] = -1;
        assay_buf_init(&out->board[m], BOARD_CEILING);
    }
    bool any = exports_all(out->config);
    for (size_t i = 0; i < out->config->count; i++)
        any |= out->config->collections[i].saved && shows_histogram(out->config, &out->config->collections[i]);
    if (!any)
        return ASSAY_OK;
    out->buckets = assay_alloc(sizeof(hook_buckets));
    ASSAY_HAVE(out->buckets);
    hook_buckets_init(out->buckets);
    return ASSAY_OK;
}

void hook_board_release(hook_output *out)
{
    for (int m = 0; m < HOOK_MODES; m++) {
        if (out->board_file[m] >= 0)
            close(out->board_file[m]);
        out->board_file[m] = -1;
        assay_buf_release(&out->board[m]);
    }
    free(out->buckets);
    out->buckets = NULL;
}

/* TensorBoard's tags: other characters become '_', no leading slash. */
static void clean_tag(char *out, const char *prefix, const char *name)
{
    int length = snprintf(out, TAG_ROOM, "%s%s", prefix, name);
    for (int i = 0; i < length && out[i]; i++) {
        unsigned char c = (unsigned char)out[i];
        if (!isalnum(c) && !strchr("-/_.", c) && c < 0x80)
            out[i] = '_';
    }
    size_t slashes = strspn(out, "/");
    memmove(out, out + slashes, strlen(out + slashes) + 1);
}

static void take_scalar(hook_output *out, const hook_item *item, double value)
{
    char tag[TAG_ROOM];
    clean_tag(tag, "", item->name);
    assay_tfevent_put_scalar(&out->board[item->mode], item->wall_time, item->step, tag, value);
}

static void take_histogram(hook_output *out, const hook_item *item, const assay_stats *stats, const char *collection)
{
    char tag[TAG_ROOM], prefix[260];
    hook_buckets *buckets = out->buckets;
    snprintf(prefix, sizeof prefix, "%s/", collection);
    clean_tag(tag, prefix, item->name);
    if (hook_count_buckets(item->dtype, item->data, item->bytes / assay_dtype_size(item->dtype), stats, buckets))
        hook_encode_histogram(&out->board[item->mode], item->wall_time, item->step, tag, &buckets->histogram);
}

/* The first collection that has a histogram of the item, or NULL, and whether the item is shown as a scalar. */
static const char *shown_as(const hook_output *out, const hook_item *item, bool *scalar)
{
    const char *histogram = NULL;
    bool scalars_only = item->mask == 0;
    for (size_t i = 0; i < out->config->count; i++) {
        const hook_collection *c = &out->config->collections[i];
        if (!(item->mask >> i & 1))
            continue;
        scalars_only |= c->scalars_only;
        if (shows_histogram(out->config, c) && !histogram)
            histogram = c->name;
    }
    *scalar = exports_all(out->config) && scalars_only && item->bytes == assay_dtype_size(item->dtype);
    return item->dtype == ASSAY_BOOL ? NULL : histogram;
}

bool hook_board_wants(const hook_output *out, const hook_item *item)
{
    bool scalar = false;
    return is_on(out) && (shown_as(out, item, &scalar) || scalar);
}

void hook_board_item(hook_output *out, const hook_item *item, const assay_stats *stats)
{
    bool scalar;
    const char *histogram = shown_as(out, item, &scalar);
    if (scalar)
        take_scalar(out, item, stats->sum);
    if (histogram)
        take_histogram(out, item, stats, histogram);
}

static int open_file(hook_output *out, int mode)
{
    static const char *const modes[HOOK_MODES] = {"TRAIN", "EVAL", "PREDICT", "GLOBAL"};
    char name[FILE_ROOM];
    const char *base = out->config->tensorboard;
    int rc = ASSAY_ENOMEM;
    char *own = base ? assay_copy_text(base) : assay_path_join(out->directory, "tensorboard");
    char *folder = own ? assay_path_join(own, modes[mode]) : NULL;
    snprintf(name, sizeof name, "events.out.tfevents.%lld.%s", (long long)time(NULL), out->worker);
    char *path = folder ? assay_path_join(folder, name) : NULL;
    if (path && (rc = assay_dir_make(folder, NULL)) == ASSAY_OK) {
        out->board_file[mode] = assay_file_open_append(path, NULL);
        rc = out->board_file[mode] < 0 ? ASSAY_EIO : ASSAY_OK;
    }
    free(own);
    free(folder);
    free(path);
    return rc;
}

/* One write a step: TensorBoard then sees whole records but for a disk that fills up within. */
static bool append(hook_output *out, int mode)
{
    assay_buf *all = &out->board[mode], first;
    bool fresh = out->board_file[mode] < 0;
    if (assay_buf_status(all) < 0 || (fresh && open_file(out, mode) < 0))
        return false;
    bool done = true;
    if (fresh) {
        struct timespec now;
        clock_gettime(CLOCK_REALTIME, &now);
        assay_buf_init(&first, FILE_ROOM);
        assay_tfevent_put_version(&first, (double)now.tv_sec + 1e-9 * (double)now.tv_nsec);
        done = write(out->board_file[mode], first.data, first.size) == (ssize_t)first.size;
        assay_buf_release(&first);
    }
    return done && write(out->board_file[mode], all->data, all->size) == (ssize_t)all->size;
}

void hook_board_close_step(hook_output *out, bool written)
{
    for (int m = 0; is_on(out) && m < HOOK_MODES; m++) {
        if (written && (out->board[m].size || assay_buf_status(&out->board[m]) < 0) && !append(out, m)) {
            assay_log_warn("%s: TensorBoard's file cannot be written (%s): no more of them", out->directory,
                           strerror(errno));
            hook_board_release(out);
            return;
        }
        assay_buf_clear(&out->board[m]);
    }
}
