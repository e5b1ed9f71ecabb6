/* suffixes.c - what the ending of a file's name says: the one table of such endings. */
#include "container/suffixes.h"

#include <string.h>

#include "base/path.h"

enum {
    TENSORS = ASSAY_SUFFIX_TENSORS,
    STATE = ASSAY_SUFFIX_STATE,
    LOADED = ASSAY_SUFFIX_LOADED,
    DATA = ASSAY_SUFFIX_DATA,
    NO_SUMS = ASSAY_SUFFIX_NO_SUMS,
    PIECES = ASSAY_SUFFIX_PIECES,
    RANK = ASSAY_SUFFIX_RANK,
    PACKED = ASSAY_SUFFIX_PACKED,
    OUTPUT = ASSAY_SUFFIX_OUTPUT
};

/* A name is all that its endings say together: of "zero_pp_rank_0_mp_rank_00_optim_states.pt" three do. */
static const struct suffix {
    const char *text;
    unsigned kinds;
} suffixes[] = {
    {".safetensors", TENSORS | STATE | DATA | NO_SUMS | PIECES},
    {".distcp", TENSORS | PIECES | RANK},
    {".npz", TENSORS | STATE},
    {".npy", STATE | NO_SUMS},
    {".pt", TENSORS | STATE | LOADED},
    {".pth", TENSORS | STATE | LOADED},
    {".bin", TENSORS | STATE | LOADED},
    {".ckpt", TENSORS | STATE | LOADED},
    {"_states.pt", PIECES}, /* DeepSpeed */
    {"_optim_states.pt", RANK},
    {".pkl", STATE | LOADED},
    {".metadata", STATE},
    {"metadata.json", STATE},
    {"trainer_state.json", STATE},
    {".index.json", STATE},
    {".pickle", LOADED},
    {".joblib", LOADED},
    {".dat", LOADED},
    {".p", LOADED},
    {".dill", LOADED},
    {".pk", LOADED},
    {".th", LOADED},
    {".t7", LOADED},
    {".json", DATA},
    {".jsonl", DATA},
    {".csv", DATA},
    {".md", DATA},
    {".py", DATA}, /* run by who imports it, never by who loads the checkpoint */
    {".txt", DATA | OUTPUT},
    {".log", OUTPUT},
    {".out", OUTPUT},
    {".err", OUTPUT},
    {".stdout", OUTPUT},
    {".stderr", OUTPUT},
    {".gz", PACKED},
    {".xz", PACKED},
    {".bz2", PACKED},
    {".zst", PACKED},
    {".lz4", PACKED},
    {".lzma", PACKED},
    {".7z", PACKED},
    {".rar", PACKED},
    {".tgz", PACKED},
    {".zip", PACKED},
};

unsigned assay_suffix_kinds(const char *name)
{
    unsigned kinds = 0;
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++)
        if (assay_path_ends(name, suffixes[i].text))
            kinds |= suffixes[i].kinds;
    return kinds;
}

size_t assay_suffix_before(const char *name, size_t length, unsigned kinds)
{
    size_t before = length;
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
        const size_t size = strlen(suffixes[i].text);
        if (suffixes[i].kinds & kinds && assay_path_ends_n(name, length, suffixes[i].text) && length - size < before)
            before = length - size;
    }
    return before;
}
