import ArgumentParser

@main
struct Bellhop: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "bellhop", abstract: "Watches your task tracker and acts on what changes.")
}
