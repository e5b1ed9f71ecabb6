# bash completion for assay. `assay completion bash` prints it; packages install it.
# The program itself knows what can follow: its last argument is the word under the cursor.
_assay()
{
    local line=${COMP_LINE:0:COMP_POINT} current lead value files=
    local -a words
    read -ra words <<<"$line"
    [[ $line == *[[:space:]] ]] && words+=("")
    current=${words[-1]}
    # bash also breaks words at = and : and replaces only the last piece
    lead=${current%"${COMP_WORDS[COMP_CWORD]}"}
    [[ ${COMP_WORDS[COMP_CWORD]} == [=:] ]] && lead=$current
    COMPREPLY=()
    while IFS= read -r value; do
        value=${value%%$'\t'*}
        if [[ $value == :files ]]; then
            files=1
        elif [[ $value == "$current"* ]]; then
            COMPREPLY+=("$(printf %q "${value#"$lead"}")")
        fi
    done < <("${words[0]}" __complete "${words[@]:1}" 2>/dev/null)
    [[ $files && ${#COMPREPLY[@]} -eq 0 ]] && compopt -o default 2>/dev/null
    return 0
}
complete -F _assay assay
