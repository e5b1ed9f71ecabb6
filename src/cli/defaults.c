/* defaults.c - see defaults.h. */
#include "cli/defaults.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/file.h"
#include "base/nearest.h"
#include "cli/commands.h"

enum { CEILING = 1 << 16 };

static char path[PATH_MAX]; /* of the file that was read */
static assay_buf text;      /* what it holds; size 0: nothing */

/* A line that was handed out: values are borrowed from it. */
typedef struct kept_line {
    struct kept_line *before;
    char text[];
} kept_line;
static kept_line *kept;

/* Where the file is: true when somebody named it. `path` is "" where there can be none. */
static bool find(void)
{
    const char *named = getenv("ASSAY_CONFIG"), *folder = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
    int length = 0;
    if (named)
        length = snprintf(path, sizeof path, "%s", named);
    else if (folder && folder[0] == '/')
        length = snprintf(path, sizeof path, "%s/assay/config", folder);
    else if (home && home[0] == '/')
        length = snprintf(path, sizeof path, "%s/.config/assay/config", home);
    if (length <= 0 || length >= (int)sizeof path)
        path[0] = '\0';
    return named && path[0];
}

int cli_defaults_read(assay_comm *comm, assay_error *err)
{
    int status = ASSAY_OK;
    assay_buf_init(&text, CEILING + sizeof path);
    const bool named = find();
    if ((!comm || assay_comm_rank(comm) == 0) && path[0]) {
        assay_error ignored = {""};
        status = assay_file_read(path, CEILING, &text, named ? err : &ignored);
        if (status == ASSAY_ENOTFOUND && !named)
            status = ASSAY_OK;
        else if (status != ASSAY_OK)
            status = assay_fail(err, ASSAY_EUSAGE, "%s", named ? err->text : ignored.text);
    }
    if (comm)
        status = assay_comm_agree(comm, status, err);
    if (status == ASSAY_OK && comm)
        status = assay_comm_broadcast(comm, &text);
    return status;
}

void cli_defaults_release(void)
{
    assay_buf_release(&text);
    for (kept_line *before; kept; kept = before) {
        before = kept->before;
        free(kept);
    }
}

static char *keep(const char *line, size_t length)
{
    kept_line *made = assay_alloc_zeroed(1, sizeof *made + length + 1);
    if (!made)
        return NULL;
    memcpy(made->text, line, length);
    made->before = kept;
    kept = made;
    return made->text;
}

static const char *trimmed(char *from, char *to)
{
    while (from < to && (*from == ' ' || *from == '\t'))
        from++;
    while (to > from && strchr(" \t\r", to[-1]))
        to--;
    *to = '\0';
    return from;
}

/* Does any command have the option? */
static bool anybody_has(const char *option)
{
    const size_t length = strlen(option);
    for (size_t i = 0; cli_command_at(i); i++)
        if (cli_option_find(cli_command_at(i), option, length))
            return true;
    return false;
}

/* Is a line for all commands meant for those whose option of that name takes other values (`format`: files, or a form)? */
static bool is_for_others(const assay_setting *option, const char *value)
{
    int word;
    if (option->kind != ASSAY_SETTING_WORD || !value || assay_setting_take(option, value, &word) == ASSAY_OK)
        return false;
    for (size_t i = 0; cli_command_at(i); i++) {
        const assay_setting *other = cli_option_find(cli_command_at(i), option->name, strlen(option->name));
        if (other && other->kind != ASSAY_SETTING_WORD)
            return true;
    }
    return false;
}

/* Offers the options of a command, or of all (NULL). */
static void offer(const cli_command *command, assay_nearest *nearest)
{
    const assay_setting *table[CLI_TABLES];
    for (size_t c = 0; cli_command_at(c); c++) {
        const cli_command *one = cli_command_at(c);
        for (size_t t = 0, tables = cli_option_tables(one, table); (!command || command == one) && t < tables; t++)
            assay_settings_offer(table[t], nearest);
    }
}

int cli_defaults_next(const cli_command *command, size_t *at, cli_default *out, assay_error *err)
{
    static char place[PATH_MAX + 16];
    while (*at < text.size) {
        const char *begin = (const char *)text.data + *at, *end = memchr(begin, '\n', text.size - *at);
        const size_t length = end ? (size_t)(end - begin) : text.size - *at;
        unsigned number = 1;
        for (size_t i = 0; i < *at; i++)
            number += text.data[i] == '\n';
        snprintf(place, sizeof place, "%s:%u", path, number);
        *at += length + 1;
        if (memchr(begin, '\0', length))
            return assay_fail(err, ASSAY_EUSAGE, "%s: no line of options", place);
        char *line = keep(begin, length);
        if (!line)
            return assay_fail(err, ASSAY_ENOMEM, "%s: out of memory", place);
        char *equals = memchr(line, '=', length);
        *out = (cli_default){.place = place};
        if (equals)
            out->value = trimmed(equals + 1, line + length);
        const char *name = trimmed(line, equals ? equals : line + length), *dot = strchr(name, '.');
        if (name[0] == '#' || (name[0] == '\0' && !equals))
            continue;
        if (name[0] == '[')
            return assay_fail(err, ASSAY_EUSAGE,
                              "%s: there are no sections; write the command in front of its options, as in "
                              "\"run.reports = json,html\"",
                              place);
        out->option = dot ? dot + 1 : name;
        char owner[32];
        snprintf(owner, sizeof owner, "%.*s", dot ? (int)(dot - name) : 0, name);
        const cli_command *of = dot ? cli_command_find(owner) : command;
        if (!of)
            return assay_fail(err, ASSAY_EUSAGE, "%s: there is no command \"%s\"", place, owner);
        const assay_setting *has = cli_option_find(of, out->option, strlen(out->option));
        if (!dot && has && strcmp(has->name, "out") == 0 &&
            strcmp(has->value, "PLACE") != 0) /* `out` for all is where reports go */
            continue;
        if (!has && (dot || !anybody_has(out->option))) {
            char room[ASSAY_NEAREST_ROOM];
            assay_nearest nearest;
            assay_nearest_begin(&nearest, out->option, strlen(out->option));
            offer(dot ? of : NULL, &nearest);
            return assay_fail(err, ASSAY_EUSAGE, "%s: %s has %s option \"%.100s\"%s", place,
                              dot ? of->name : "no command", dot ? "no" : "an", out->option,
                              assay_nearest_hint(&nearest, room));
        }
        if (has && of == command && (dot || !is_for_others(has, out->value)))
            return 1;
    }
    return 0;
}
