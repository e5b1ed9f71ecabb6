/* rules_new.c - `assay rules new NAME`: writes a rule, its build and its test to start from. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/path.h"
#include "cli/rules_load.h"
#include "cli/rules_new_texts.h"

enum { LONGEST_NAME = 60, TEXT_CEILING = 1 << 20 };

/* What stands for @NAME@, @FILE@, @PREFIX@ and @PROGRAM@ in the texts. */
typedef struct blanks {
    const char *name, *prefix, *program;
    char file[128];
} blanks;

static int check_name(const char *name, assay_error *err)
{
    size_t letters = strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_");
    if (letters == 0 || name[letters] || letters > LONGEST_NAME || strchr("0123456789_", name[0]))
        return assay_fail(err, ASSAY_EUSAGE,
                          "rules new: \"%.60s\" is not a name for a rule: letters and digits like LossJump, at most %d",
                          name, LONGEST_NAME);
    if (assay_rule_find(name))
        return assay_fail(err, ASSAY_EUSAGE, "rules new: there is a rule %s already", name);
    return ASSAY_OK;
}

static void put_filled(const char *text, const blanks *b, assay_buf *out)
{
    const struct {
        const char *blank, *filling;
    } list[] = {{"@NAME@", b->name}, {"@FILE@", b->file}, {"@PREFIX@", b->prefix}, {"@PROGRAM@", b->program}};
    while (*text) {
        size_t i = 0, count = sizeof list / sizeof *list;
        while (i < count && strncmp(text, list[i].blank, strlen(list[i].blank)) != 0)
            i++;
        if (i < count)
            assay_put_bytes(out, list[i].filling, strlen(list[i].filling));
        else
            assay_put_bytes(out, text, 1);
        text += i < count ? strlen(list[i].blank) : 1;
    }
}

/* The program, and the directory above its own, where an installed program has its package; "" when they cannot be
 * told. */
static void find_prefix(char *program, char *out, size_t room)
{
    ssize_t length = readlink("/proc/self/exe", program, room - 1);
    program[length > 0 ? length : 0] = '\0';
    snprintf(out, room, "%s", program);
    for (int up = 0; up < 2; up++) {
        char *slash = strrchr(out, '/');
        if (slash)
            *slash = '\0';
    }
}

/* The path of a file to be written, which must not be there yet. The caller frees it. */
static int new_path(const char *directory, const char *pattern, const blanks *b, char **out, assay_error *err)
{
    assay_buf name = ASSAY_BUF(1 << 12);
    put_filled(pattern, b, &name);
    assay_put_u8(&name, '\0');
    char *path = assay_buf_status(&name) == ASSAY_OK ? assay_path_join(directory, (const char *)name.data) : NULL;
    assay_buf_release(&name);
    if (!path)
        return assay_fail(err, ASSAY_ENOMEM, "out of memory");
    if (access(path, F_OK) == 0) {
        assay_fail(err, ASSAY_EUSAGE, "rules new: %s is there already: give another --dir", path);
        free(path);
        return ASSAY_EUSAGE;
    }
    *out = path;
    return ASSAY_OK;
}

static int write_one(const char *directory, const cli_new_text *text, const blanks *b, assay_buf *out, assay_error *err)
{
    char *path = NULL;
    assay_buf content = ASSAY_BUF(TEXT_CEILING);
    int status = new_path(directory, text->file, b, &path, err);
    for (size_t i = 0; status == ASSAY_OK && text->line[i]; i++) {
        put_filled(text->line[i], b, &content);
        assay_put_u8(&content, '\n');
    }
    if (status == ASSAY_OK && assay_buf_status(&content) != ASSAY_OK)
        status = assay_fail(err, assay_buf_status(&content), "out of memory");
    ASSAY_THEN(status, assay_file_write(path, content.data, content.size, err));
    if (status == ASSAY_OK)
        assay_put_format(out, "wrote %s\n", path);
    assay_buf_release(&content);
    free(path);
    return status;
}

static void put_directory(const char *before, const char *directory, const char *below, assay_buf *out)
{
    assay_put_format(out, "%s", before);
    assay_put_shell_word(out, directory);
    assay_put_format(out, "%s", below);
}

static void put_use_of_python(const char *directory, const char *file, assay_buf *out)
{
    put_directory("\nTest it:\n  python3 ", directory, "/test_", out);
    assay_put_format(out, "%s.py\n", file);
    put_directory("Use it:\n  cd ", directory, " && assay run job.json --trial TRIAL\n", out);
}

static void put_use(const char *directory, assay_buf *out)
{
    put_directory("\nBuild and test it:\n  cmake -S ", directory, "", out);
    put_directory(" -B ", directory, "/build", out);
    put_directory(" && cmake --build ", directory, "/build", out);
    put_directory(" && ctest --test-dir ", directory, "/build\n", out);
    put_directory("Use it:\n  assay run JOB --rules-path ", directory, "/build\n", out);
}

int cli_new_rule(const char *name, const char *directory, bool python, assay_buf *out, assay_error *err)
{
    char prefix[PATH_MAX], program[PATH_MAX];
    blanks b = {.name = name, .prefix = prefix, .program = program};
    const cli_new_text *texts = python ? cli_new_python_texts : cli_new_texts;
    const size_t count = python ? cli_new_python_text_count : cli_new_text_count;
    int status = check_name(name, err);
    ASSAY_TRY(status);
    assay_rule_snake_name(name, b.file, sizeof b.file);
    find_prefix(program, prefix, sizeof prefix);
    directory = directory ? directory : b.file;
    /* Nothing is written before it is known that nothing is overwritten. */
    for (size_t i = 0; status == ASSAY_OK && i < count; i++) {
        char *path = NULL;
        status = new_path(directory, texts[i].file, &b, &path, err);
        free(path);
    }
    ASSAY_THEN(status, assay_dir_make(directory, err));
    for (size_t i = 0; status == ASSAY_OK && i < count; i++)
        status = write_one(directory, &texts[i], &b, out, err);
    if (status == ASSAY_OK && python)
        put_use_of_python(directory, b.file, out);
    else if (status == ASSAY_OK)
        put_use(directory, out);
    return status;
}
