# fish completion for assay. `assay completion fish` prints it; packages install it.
# The program itself knows what can follow: its last argument is the word under the cursor.
function __assay_complete
    set -l words (commandline -opc) (commandline -ct)
    for line in ($words[1] __complete $words[2..-1] 2>/dev/null)
        if test "$line" = :files
            __fish_complete_path (commandline -ct)
        else
            echo $line
        end
    end
end
complete -c assay -f -a '(__assay_complete)'
