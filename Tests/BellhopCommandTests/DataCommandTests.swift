import ArgumentParser
import Testing

@testable import bellhop

@Suite struct `Commands that print data` {
    private static func all(_ command: any ParsableCommand.Type) -> [any ParsableCommand.Type] {
        [command] + command.configuration.subcommands.flatMap(all)
    }

    @Test func `every command with --json is a DataCommand, which prints its errors as JSON too`() {
        let commands = Self.all(Bellhop.self).filter { $0.helpMessage().contains("  --json") }
        #expect(commands.count > 20)
        for command in commands { #expect(command is any DataCommand.Type, "\(command)") }
    }
}
