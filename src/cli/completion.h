/* completion.h - the scripts of src/cli/completion as of the build. */
#pragma once

#include <stddef.h>

extern const unsigned char cli_completion_bash[], cli_completion_zsh[], cli_completion_fish[];
extern const size_t cli_completion_bash_size, cli_completion_zsh_size, cli_completion_fish_size;
