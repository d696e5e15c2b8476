import ArgumentParser

struct CompletionsCommand: ParsableCommand {
    enum Shell: String, ExpressibleByArgument, CaseIterable { case bash, zsh, fish }

    static let configuration = CommandConfiguration(
        commandName: "completions", abstract: "Print a script that completes commands and options in a shell.",
        discussion: """
            bash: bellhop completions bash > ~/.local/share/bash-completion/completions/bellhop
            zsh:  bellhop completions zsh > FOLDER/_bellhop, where FOLDER is in $fpath
            fish: bellhop completions fish > ~/.config/fish/completions/bellhop.fish
            """)

    @Argument(help: "The shell: bash, zsh or fish.")
    var shell: Shell

    func run() {
        guard let shell = CompletionShell(rawValue: shell.rawValue) else {
            preconditionFailure("ArgumentParser knows all of them")
        }
        Console.data(Bellhop.completionScript(for: shell))
    }
}
