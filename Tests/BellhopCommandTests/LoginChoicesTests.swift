import BellhopTesting
import Foundation
import Simulator
import Testing

/// The choices of a person in `bellhop login` at a terminal; the page `login-eto` shows the same with input from a pipe.
@Suite(.timeLimit(.minutes(5))) struct LoginChoicesTests {
    /// Types a name and a password at a terminal and calls the body at the first list.
    private func logIn(
        password: String = "secret", _ body: (Program, PseudoTerminal) async throws -> Void
    ) async throws -> (ended: Program.Ended, simulation: Simulation, keychain: Bool) {
        let folder = try TemporaryFolder()
        let simulation = Simulation(now: { Int64(Date.now.timeIntervalSince1970 * 1_000_000) })
        simulation.addOtherSystems(account: "ada@example.com", password: "secret", secret: "s3cret")
        let ended = try await SimulatorServer(simulation).serve { address in
            try folder.write(
                "bellhop.yaml",
                """
                version: 1
                connections:
                  eto: {kind: eto, address: "\(address)"}
                sources:
                  visits: {kind: touchpoints, connection: eto, touchpoint: "14", subject: all}

                """)
            let terminal = try PseudoTerminal()
            let program = try Program(["login", "eto"], in: folder.path, terminal: terminal)
            try await eventually("the name is asked for") { program.errorsSoFar.contains("User name: ") }
            terminal.type("ada@example.com\n")
            try await eventually("the password is asked for") { program.errorsSoFar.contains("Password: ") && !terminal.hasEcho }
            terminal.type(password + "\n")
            try await body(program, terminal)
            return await program.end()
        }
        return (ended, simulation, FileManager.default.fileExists(atPath: folder.path + "/keychain.json"))
    }

    @Test func `at a terminal a wrong choice is asked for again, and the chosen settings are printed`() async throws {
        let (ended, simulation, isStored) = try await logIn { program, terminal in
            try await eventually("the enterprises are listed") { program.errorsSoFar.contains("Which enterprise (1 to 2)? ") }
            terminal.type("7\n")
            try await eventually("it is asked again") {
                program.errorsSoFar.contains("There is no enterprise `7` in the list.\nWhich enterprise")
            }
            terminal.type("1\n")
            try await eventually("the sites are listed") { program.errorsSoFar.contains("Which site (1 to 2)? ") }
            terminal.type("south\n")
        }
        #expect(ended.code == 0, "\(ended.errors)")
        #expect(ended.output == "    enterprise: \"Shelter Network\"\n    site: \"78\"  # South\n")
        #expect(ended.errors.contains("Logged in as ada@example.com, Shelter Network, South; stored in"))
        #expect(isStored)
        #expect(!ended.errors.contains("Password: secret"))
        // Once for the list, once to check the choice.
        #expect(simulation.eto.counts.logins == 2)
    }

    @Test func `the number beside a name in the list is accepted`() async throws {
        let (ended, _, isStored) = try await logIn { program, terminal in
            try await eventually("the enterprises are listed") { program.errorsSoFar.contains("Which enterprise (1 to 2)? ") }
            terminal.type("1\n")
            try await eventually("the sites are listed") { program.errorsSoFar.contains("South (78)") }
            terminal.type("78\n\n")
        }
        #expect(ended.code == 0, "\(ended.errors)")
        #expect(ended.output.contains("site: \"78\"  # South"))
        #expect(isStored)
    }

    @Test func `a wrong password is tried once, and nothing is listed or stored`() async throws {
        let (ended, simulation, isStored) = try await logIn(password: "wrong") { _, _ in }
        #expect(ended.code == 77)
        #expect(!ended.errors.contains("Which"))
        #expect(simulation.eto.counts.failedLogins == 1)
        #expect(!isStored)
    }

    @Test func `an empty answer ends the login without storing anything`() async throws {
        let (ended, _, isStored) = try await logIn { program, terminal in
            try await eventually("the enterprises are listed") { program.errorsSoFar.contains("Which enterprise") }
            terminal.type("\n")
        }
        #expect(ended.code == 64)
        #expect(!isStored)
    }
}
