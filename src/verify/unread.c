/* unread.c - says of files of other programs what they are, and what loading the pickles among them would run. */
#include "verify/unread.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/path.h"
#include "base/vec.h"
#include "store/storage.h"
#include "verify/archive.h"
#include "verify/words.h"

enum { BELOW_MOST = 16, HEAD = 512 };

typedef struct unread {
    assay_store *store;
    const assay_verify_options *options;
    assay_verification *out;
    assay_verify_file *line; /* of the file under way */
    bool known;              /* something there is of a kind that is known, or runs code */
    const assay_buf *models; /* names of files of the place that are left out, terminated; NULL: none */
    assay_error *err;
} unread;

const char *assay_verify_unread_kind(const uint8_t *head, size_t size, const char *path)
{
    static const struct {
        size_t at;
        const char *magic, *what;
    } magics[] = {{0, "GGUF", "a GGUF file of llama.cpp"},
                  {0, "lmgg", "a GGML file of llama.cpp"},
                  {0, "tjgg", "a GGML file of llama.cpp"},
                  {0, "\x89HDF\r\n\x1a\n", "an HDF5 file, as Keras writes one"},
                  {4, "TFL3", "a model of TensorFlow Lite"}};
    static const struct {
        const char *end, *what;
    } ends[] = {{".onnx", "an ONNX model"},
                {".ptl", "a model of PyTorch Mobile"},
                {".onnx_data", "data of an ONNX model"},
                {".msgpack", "MessagePack, as Flax writes it"},
                {".ckpt.index", "a checkpoint of TensorFlow"},
                {".pb", "a graph of TensorFlow"},
                {".mlmodel", "a Core ML model"},
                {".engine", "a TensorRT engine"},
                {".pkl", "a pickle of Python"},
                {".pickle", "a pickle of Python"},
                {".joblib", "a pickle of Python, by joblib"},
                {".dill", "a pickle of Python, by dill"}};
    for (size_t i = 0; i < sizeof magics / sizeof *magics; i++) {
        const size_t length = strlen(magics[i].magic);
        if (size >= magics[i].at + length && memcmp(head + magics[i].at, magics[i].magic, length) == 0)
            return magics[i].what;
    }
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (assay_path_ends(path, ends[i].end))
            return ends[i].what;
    return strstr(assay_path_name(path), ".data-00000-of-") ? "a checkpoint of TensorFlow" : NULL;
}

/* ---- what the walk through a file finds ---- */

static int skip_sum(void *context, const assay_entry_sum *sum)
{
    (void)context;
    (void)sum;
    return ASSAY_OK;
}

static int say(unread *u, assay_verify_state state, const char *text)
{
    if (u->line->first && state <= u->line->state)
        return ASSAY_OK;
    free(u->line->first);
    u->line->first = assay_copy_text(text);
    u->line->state = state > u->line->state ? state : u->line->state;
    return u->line->first ? ASSAY_OK : ASSAY_ENOMEM;
}

static int take_loading(void *context, const char *where, const assay_loading *found)
{
    unread *u = context;
    assay_buf text = ASSAY_BUF(1 << 16);
    assay_verify_put_loading(u->line->path, where, found, &text);
    const bool code = found->grade == ASSAY_LOADING_CODE || u->options->strict;
    int status = assay_buf_status(&text);
    u->known = u->known || code;
    ASSAY_THEN(status, say(u, code ? ASSAY_VERIFY_CODE : ASSAY_VERIFY_UNREAD, (const char *)text.data));
    assay_buf_release(&text);
    return status;
}

static int take_unseen(void *context, const char *where, const char *what, bool beside)
{
    unread *u = context;
    char text[1024];
    (void)beside;
    snprintf(text, sizeof text, "%s: %s%s%s", u->line->path, where, *where ? ": " : "", what);
    return say(u, ASSAY_VERIFY_UNREAD, text);
}

/* ---- files ---- */

static int look_at_file(unread *u, const char *path)
{
    const assay_archive_visitor visitor = {
        .context = u, .sum = skip_sum, .loading = take_loading, .unseen = take_unseen, .most = u->options->memory / 4};
    assay_verification *j = u->out;
    uint8_t head[HEAD] = {0};
    char text[512];
    size_t got = 0;
    assay_store_file *file = NULL;
    u->line = assay_vec_add(&j->file, &j->files, &j->file_room, sizeof *j->file);
    if (!u->line || !(u->line->path = assay_copy_text(path)))
        return ASSAY_ENOMEM;
    int status = assay_store_open_file(u->store, path, &file, u->err);
    ASSAY_THEN(status, assay_store_read_at(file, 0, head, HEAD, &got, u->err));
    if (status != ASSAY_OK)
        return status;
    u->line->bytes = assay_store_file_size(file);
    u->line->state = ASSAY_VERIFY_NOTE;
    const char *kind = assay_verify_unread_kind(head, got, path);
    status = assay_archive_walk(file, path, 0, UINT64_MAX, &visitor, u->err);
    if (status == ASSAY_OK && u->line->state < ASSAY_VERIFY_CODE)
        status = assay_archive_walk_tail(file, path, &visitor, u->err);
    assay_store_close_file(file);
    const bool pickle = assay_loading_is_pickle(head, got);
    if (status != ASSAY_OK || (!kind && !pickle))
        return status;
    u->known = true;
    snprintf(text, sizeof text, "%s: it is %s, which is not read", path, kind ? kind : "a pickle of Python");
    return say(u, ASSAY_VERIFY_UNREAD, text);
}

static bool is_left_out(const unread *u, const char *path)
{
    for (size_t at = 0; u->models && at < u->models->size; at += strlen((const char *)u->models->data + at) + 1)
        if (strcmp((const char *)u->models->data + at, path) == 0)
            return true;
    return false;
}

static int look_at_directory(unread *u, const char *directory, int depth)
{
    assay_names names = {0};
    int status = assay_store_list(u->store, directory, &names, u->err);
    for (size_t i = 0; i < names.count && status == ASSAY_OK; i++) {
        char *path = assay_path_join(directory, names.name[i]);
        if (!path)
            status = ASSAY_ENOMEM;
        else if (assay_store_exists(u->store, path, NULL) == 1)
            status = is_left_out(u, path) ? ASSAY_OK : look_at_file(u, path);
        else if (depth < BELOW_MOST)
            status = look_at_directory(u, path, depth + 1);
        free(path);
    }
    assay_names_release(&names);
    return status;
}

/* One checkpoint, of which the worst file speaks. */
static int conclude(unread *u, const char *place)
{
    assay_verification *j = u->out;
    assay_verify_step *step = assay_vec_add(&j->step, &j->steps, &j->step_room, sizeof *j->step);
    const assay_verify_file *worst = NULL;
    ASSAY_HAVE(step);
    for (size_t i = 0; i < j->files; i++)
        worst = !worst || j->file[i].state > worst->state ? &j->file[i] : worst;
    *step = (assay_verify_step){.state = worst->state,
                                .name = assay_copy_text(assay_path_name(place)),
                                .why = assay_copy_text(worst->first ? worst->first : worst->path)};
    j->state = worst->state;
    j->path = assay_copy_text(place);
    j->last_sound = -1;
    return step->name && step->why && j->path ? ASSAY_OK : ASSAY_ENOMEM;
}

int assay_verify_unread(const char *place, const assay_verify_options *options, assay_verification *out,
                        assay_error *err)
{
    unread u = {.options = options, .out = out, .err = err};
    assay_error why = {""};
    const char *name = assay_path_name(place);
    int status = assay_store_open(place, &u.store, &why);
    const bool file = status == ASSAY_ENOTFOUND;
    if (file) { /* it may lie in a directory that is one */
        char *directory =
            name == place ? assay_copy_text(".") : assay_copy_bytes_as_text(place, (size_t)(name - place));
        status = directory ? assay_store_open(directory, &u.store, &why) : ASSAY_ENOMEM;
        if (status == ASSAY_OK && assay_store_exists(u.store, name, NULL) != 1)
            status = ASSAY_ENOTFOUND;
        free(directory);
    }
    ASSAY_THEN(status, file ? look_at_file(&u, name) : look_at_directory(&u, "", 0));
    ASSAY_THEN(status, u.known ? conclude(&u, place) : ASSAY_ENOTFOUND);
    assay_store_close(u.store);
    if (status != ASSAY_OK) {
        assay_verification_release(out);
        *out = (assay_verification){.last_sound = -1};
    }
    return status;
}

/* Of what lies beside models counts what runs code; the rest is a note. */
static int add_beside(const assay_verify_file *found, assay_verification *out)
{
    const bool code = found->state == ASSAY_VERIFY_CODE;
    if (!found->first)
        return ASSAY_OK;
    assay_verify_file *line = assay_vec_add(&out->file, &out->files, &out->file_room, sizeof *out->file);
    ASSAY_HAVE(line);
    *line = (assay_verify_file){.step = -1,
                                .state = code ? ASSAY_VERIFY_CODE : ASSAY_VERIFY_NOTE,
                                .bytes = found->bytes,
                                .losses = code,
                                .remarks = !code,
                                .path = assay_copy_text(found->path),
                                .first = assay_copy_text(found->first)};
    if (code) {
        out->state = ASSAY_VERIFY_CODE;
        out->losses++;
        if (!out->unnumbered && !(out->unnumbered = assay_copy_text(found->first)))
            return ASSAY_ENOMEM;
    }
    return line->path && line->first ? ASSAY_OK : ASSAY_ENOMEM;
}

int assay_verify_beside(const char *place, const assay_buf *models, const assay_verify_options *options,
                        assay_verification *out, assay_error *err)
{
    assay_verification found = {.last_sound = -1};
    unread u = {.options = options, .out = &found, .err = err, .models = models};
    int status = assay_store_open(place, &u.store, err);
    ASSAY_THEN(status, look_at_directory(&u, "", 0));
    for (size_t i = 0; i < found.files && status == ASSAY_OK; i++)
        status = add_beside(&found.file[i], out);
    assay_store_close(u.store);
    assay_verification_release(&found);
    return status;
}
