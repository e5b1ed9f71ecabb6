/* lone_file.c - which files are trials by themselves, by their names and by their first bytes.
 *
 * This room opens a trial before any format has looked at it, and has to know by then whether its root is a directory or
 * one file of it. So what the formats call such files stands here once more; what a file holds, its format decides. */
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/path.h"
#include "store/storage.h"

/* ---- by the name ---- */

/* Endings are compared as they are written: a format's own test, which opens the file, comes later. */
static bool ends_with_any(const char *name, const char *const *suffix, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (assay_path_ends(name, suffix[i]))
            return true;
    return false;
}

bool assay_is_log_file(const char *place)
{
    static const char *const ends[] = {".wandb",    ".db",      ".sqlite",     ".sqlite3", ".csv",
                                       ".log",      ".out",     ".txt",        ".err",     "trainer_state.json",
                                       "dump.json", ".json.gz", ".trace.json", ".jsonl",   ".log.json"};
    const char *name = assay_path_name(place);
    return strstr(name, "tfevents") || ends_with_any(name, ends, sizeof ends / sizeof *ends) ||
           strcmp(name, "metrics.json") == 0 || strcmp(name, "scalars.json") == 0;
}

bool assay_is_tensor_file(const char *place)
{
    static const char *const ends[] = {".safetensors", ".pt", ".pth", ".bin", ".ckpt", ".npz", ".npy"};
    /* place + 1: ".npz" alone is a hidden file without an ending. */
    return place[0] != '\0' && /* a name is more than its ending */
           ends_with_any(place + 1, ends, sizeof ends / sizeof *ends);
}

/* ---- by what is in it ---- */

/* A header of safetensors: its length in 8 bytes, and JSON. */
static bool is_safetensors(const uint8_t *head, uint64_t size)
{
    /* The limit of the format's own reader. */
    enum { HEADER_MOST = 100000000 };
    uint64_t length = 0;
    for (int i = 8; i-- > 0;)
        length = length << 8 | head[i];
    return head[8] == '{' && length >= 2 && length <= HEADER_MOST && length + 8 <= size;
}

bool assay_is_tensor_content(const char *place)
{
    /* The first bytes of a pickle that torch.save() wrote before its zip files: protocol 2, then a magic number. */
    static const uint8_t LEGACY[] = {0x80, 0x02, 0x8a, 0x0a, 0x6c, 0xfc, 0x9c, 0x46, 0xf9};
    uint8_t head[512] = {0};
    struct stat about;
    const int number = assay_file_open(place, &about);
    const ssize_t got = number >= 0 ? pread(number, head, sizeof head, 0) : -1;
    if (number >= 0)
        close(number);
    /* In turn: zip, NumPy, torch's legacy form, safetensors, tar. */
    return got > 8 && (memcmp(head, "PK\3\4", 4) == 0 || memcmp(head, "\x93NUMPY", 6) == 0 ||
                       memcmp(head, LEGACY, sizeof LEGACY) == 0 || is_safetensors(head, (uint64_t)about.st_size) ||
                       (got == sizeof head && memcmp(head + 257, "ustar", 5) == 0));
}

/* The beginning of a regular file, a text behind it; how many bytes, 0: it is none, or cannot be read. */
static size_t read_head(const char *place, char *head, size_t room)
{
    const int number = assay_file_open(place, NULL);
    const ssize_t got = number >= 0 ? pread(number, head, room - 1, 0) : 0;
    if (number >= 0)
        close(number);
    head[got > 0 ? got : 0] = '\0';
    return got > 0 ? (size_t)got : 0;
}

/* Is one of the words in the text? */
static bool has_word(const char *text, size_t size, const char *const *words)
{
    while (*words && !memmem(text, size, *words, strlen(*words)))
        words++;
    return *words != NULL;
}

bool assay_is_dump_content(const char *place)
{
    static const char *const words[] = {
        "pg_config", "pg_status", "nccl_comm_state", "nccl_version", "comm_lib_version", "collective_seq_id", NULL};
    char head[4096];
    const size_t got = read_head(place, head, sizeof head);
    const size_t frame = got > 2 && (uint8_t)head[2] == 0x95 ? 9 : 0;
    /* A map is the outermost value: of a pickle behind \x80, the protocol, and perhaps a frame. 0x95 is the FRAME
     * opcode of protocol 4 and 5, with eight bytes of length behind it. */
    const bool pickled = got > 2 + frame && (uint8_t)head[0] == 0x80 && head[2 + frame] == '}';
    return (pickled || head[strspn(head, " \t\r\n\xef\xbb\xbf")] == '{') && has_word(head, got, words);
}

bool assay_is_trace_content(const char *place)
{
    static const char *const words[] = {"\"traceEvents\"",
                                        "\"deviceProperties\"",
                                        "\"distributedInfo\"",
                                        "\"baseTimeNanoseconds\"",
                                        "\"displayTimeUnit\"",
                                        "\"ph\"",
                                        NULL};
    char head[4096];
    const size_t got = read_head(place, head, sizeof head);
    const char first = head[strspn(head, " \t\r\n\xef\xbb\xbf")];
    return (first == '{' || first == '[') && has_word(head, got, words);
}

/* Cheap questions first: names, then contents, each of which opens the file. */
bool assay_is_lone_trial(const char *place)
{
    return assay_is_tensor_file(place) || assay_is_log_file(place) || assay_is_tensor_content(place) ||
           assay_is_dump_content(place) || assay_is_trace_content(place);
}
