/* replay.c - main for a fuzz target without libFuzzer: feeds it every file of the directories named. No file is a
 * failure. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int replay_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL || fseek(file, 0, SEEK_END) != 0) {
        perror(path);
        return 1;
    }
    long size = ftell(file);
    rewind(file);
    /* malloc of the exact size, so that a sanitizer sees one byte too many */
    uint8_t *data = malloc(size > 0 ? (size_t)size : 1);
    int failed = size < 0 || data == NULL || fread(data, 1, (size_t)size, file) != (size_t)size;
    fclose(file);
    if (failed)
        fprintf(stderr, "%s: could not be read\n", path);
    else
        LLVMFuzzerTestOneInput(data, (size_t)size);
    free(data);
    return failed;
}

int main(int argc, char **argv)
{
    int files = 0, failed = 0;
    for (int i = 1; i < argc; i++) {
        DIR *directory = opendir(argv[i]);
        if (directory == NULL) {
            perror(argv[i]);
            return 1;
        }
        for (struct dirent *entry; (entry = readdir(directory)) != NULL;) {
            char path[4096];
            if (entry->d_name[0] == '.')
                continue;
            if ((size_t)snprintf(path, sizeof path, "%s/%s", argv[i], entry->d_name) >= sizeof path) {
                fprintf(stderr, "%s: name too long\n", argv[i]);
                failed++;
                continue;
            }
            failed += replay_file(path);
            files++;
        }
        closedir(directory);
    }
    printf("%d seeds replayed, %d could not be read\n", files, failed);
    return files == 0 || failed > 0;
}
