/* Any bytes as the list of files that an earlier report left in a directory: the next report is written, and nothing
 * outside the directory is removed or changed, whatever names and links the list has. */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "report/output.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char LIST[] = "assay-files/1\n", CONTENT[] = "mine\n"; /* whose digest the seeds have */
static char place[] = "/tmp/assay-fuzz-output-XXXXXX";

static void must(bool condition)
{
    if (!condition)
        abort();
}

static const char *in_place(const char *name, char room[128])
{
    snprintf(room, 128, "%s/%s", place, name);
    return room;
}

static void put(const char *name, const void *bytes, size_t size)
{
    char room[128];
    const int file = open(in_place(name, room), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    must(file >= 0 && write(file, bytes, size) == (ssize_t)size && close(file) == 0);
}

static bool holds(const char *name, const char *begin)
{
    char room[128];
    assay_buf now = ASSAY_BUF(SIZE_MAX);
    const bool is = assay_file_read(in_place(name, room), 4096, &now, NULL) == ASSAY_OK && now.size >= strlen(begin) &&
                    memcmp(now.data, begin, strlen(begin)) == 0;
    assay_buf_release(&now);
    return is;
}

static void clear(void)
{
    static const char *const files[] = {"out/list",        "out/sub/deep",     "out/link",
                                        "out/report.json", "out/.assay-files", "outside/list"};
    static const char *const directories[] = {"out/sub", "out", "outside", ""};
    char room[128];
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        (void)unlink(in_place(files[i], room));
    for (size_t i = 0; i < sizeof directories / sizeof *directories; i++)
        (void)rmdir(in_place(directories[i], room));
}

/* `magic`: the head that a list has, in front of the bytes. */
static void write_over(const char *magic, const uint8_t *data, size_t size)
{
    char room[128];
    assay_buf list = ASSAY_BUF(SIZE_MAX);
    assay_output *output = NULL;
    assay_error err = {""};
    (void)mkdir(in_place("out/sub", room), 0700);
    put("out/list", CONTENT, sizeof CONTENT - 1);
    put("out/sub/deep", CONTENT, sizeof CONTENT - 1);
    assay_put_bytes(&list, magic, strlen(magic));
    assay_put_bytes(&list, data, size);
    put("out/.assay-files", list.data, list.size);
    assay_buf_release(&list);
    int status = assay_output_open(in_place("out", room), &output, &err);
    ASSAY_THEN(status, assay_output_is_of(output, "trial"));
    ASSAY_THEN(status, assay_output_probe(output, true, &err));
    ASSAY_THEN(status, assay_output_write(output, "report.json", "{}", 2, &err));
    ASSAY_THEN(status, assay_output_finish(output, &err));
    assay_output_close(output);
    must(status == ASSAY_OK && holds("outside/list", CONTENT) && holds("out/report.json", "{}") &&
         holds("out/.assay-files", LIST));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static bool made;
    char room[128];
    if (!made) {
        must(mkdtemp(place) && mkdir(in_place("out", room), 0700) == 0 && mkdir(in_place("outside", room), 0700) == 0);
        put("outside/list", CONTENT, sizeof CONTENT - 1);
        must(symlink("../outside", in_place("out/link", room)) == 0);
        made = atexit(clear) == 0;
    }
    write_over("", data, size);
    write_over(LIST, data, size);
    return 0;
}
