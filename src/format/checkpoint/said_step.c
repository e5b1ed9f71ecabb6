/* said_step.c - see said_step.h. What is damaged here says nothing; whoever reads the file in full names it. */
#include "format/checkpoint/said_step.h"

#include <string.h>

#include "base/json_pull.h"
#include "format/checkpoint/files.h"
#include "format/checkpoint/torch.h"

enum { STATE_MOST = 64 << 20 };

/* {"epoch": 1.0, "global_step": 500, ...} */
int64_t assay_ckpt_trainer_step_in(assay_store *store, const char *path)
{
    static const char KEY[] = "global_step";
    int64_t step = -1;
    bool said = false;
    assay_buf text;
    assay_pull json = {.loose = true};
    assay_buf_init(&text, STATE_MOST);
    if (assay_store_exists(store, path, NULL) == 1 &&
        assay_store_read(store, path, STATE_MOST, &text, NULL) == ASSAY_OK) {
        assay_pull_start(&json, (const char *)text.data, text.size);
        for (bool more = assay_pull_open(&json, '{', '}'); more; more = assay_pull_more(&json, '}')) {
            const char *key = NULL;
            size_t length = 0;
            int64_t value = 0;
            bool fits = false;
            if (!assay_pull_key(&json, &key, &length))
                break;
            const bool own = length == sizeof KEY - 1 && memcmp(key, KEY, length) == 0;
            const char first = own ? assay_pull_peek(&json) : '\0';
            said = said || (first >= '0' && first <= '9') || first == '-';
            if (!own || first < '0' || first > '9')
                assay_pull_skip(&json);
            else if (assay_pull_integer(&json, &value, &fits) && fits && value >= 0)
                step = value;
        }
        const bool whole = !json.fault && !json.no_memory && text.size > 0;
        step = step < 0 && whole && !said ? ASSAY_CKPT_STEPLESS : step;
    }
    assay_pull_release(&json);
    assay_buf_release(&text);
    return step;
}

int64_t assay_ckpt_trainer_step(assay_store *store)
{
    return assay_ckpt_trainer_step_in(store, "trainer_state.json");
}

static int take_step(assay_torch *t, void *context)
{
    static const char *const keys[] = {"global_step", "global_steps", "iteration", "step"};
    int64_t *step = context;
    for (size_t i = 0; i < sizeof keys / sizeof *keys && *step < 0; i++) {
        const uint32_t node = assay_pickle_get(&t->pickle, t->pickle.root, keys[i]);
        if (node != ASSAY_PICKLE_NOTHING && t->pickle.node[node].kind == ASSAY_PICKLE_INT &&
            t->pickle.node[node].integer >= 0)
            *step = t->pickle.node[node].integer;
    }
    return ASSAY_OK;
}

int64_t assay_ckpt_torch_step(assay_store *store, const assay_names *top)
{
    int64_t step = -1;
    for (size_t i = 0; i < top->count && step < 0; i++) {
        const char *name = top->name[i];
        assay_problems unheard;
        assay_contents c;
        if (assay_ckpt_kind_of(name) != ASSAY_CKPT_TORCH || assay_ckpt_role_of(name) != ASSAY_CKPT_MODEL ||
            assay_store_exists(store, name, NULL) != 1)
            continue;
        assay_problems_init(&unheard);
        if (assay_contents_init(&c, store, 0, "", &unheard) == ASSAY_OK)
            assay_ckpt_read_torch(&c, name, name, take_step, &step);
        assay_contents_release(&c);
        assay_ckpt_unheard(store, &unheard);
    }
    return step;
}

static bool is_blank(uint8_t byte)
{
    return byte == ' ' || byte == '\t' || byte == '\r' || byte == '\n';
}

bool assay_ckpt_read_tag(assay_store *store, const char *file, char tag[ASSAY_CKPT_TAG_ROOM])
{
    assay_buf text = ASSAY_BUF(ASSAY_CKPT_TAG_ROOM - 1);
    const bool read = assay_store_exists(store, file, NULL) == 1 &&
                      assay_store_read(store, file, ASSAY_CKPT_TAG_ROOM - 1, &text, NULL) == ASSAY_OK;
    if (read) {
        size_t first = 0,
               end = text.size; /* blanks around the name are taken away by those who resume, nothing else is */
        while (end > 0 && is_blank(text.data[end - 1]))
            end--;
        while (first < end && is_blank(text.data[first]))
            first++;
        for (size_t i = first; i < end; i++) /* what a crash left of it is no end of the name, and no name */
            tag[i - first] = text.data[i] >= ' ' ? (char)text.data[i] : '?';
        tag[end - first] = '\0';
    }
    assay_buf_release(&text);
    return read;
}

/* A file with a tag, such as "global_step500", or a number. */
static int64_t read_tag(assay_store *store, const assay_trial_options *options, const char *file)
{
    char tag[ASSAY_CKPT_TAG_ROOM];
    int64_t step = -1;
    return assay_ckpt_read_tag(store, file, tag) && assay_ckpt_step(options, tag, &step) ? step : -1;
}

int64_t assay_ckpt_latest_step(assay_store *store, const assay_trial_options *options)
{
    static const char *const files[] = {"latest", "latest_checkpointed_iteration.txt", "latest_universal"};
    int64_t newest = -1;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        const int64_t step = read_tag(store, options, files[i]);
        newest = step > newest ? step : newest;
    }
    return newest;
}
