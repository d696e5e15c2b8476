import ArgumentParser
import BellhopAgent
import BellhopCore
import Simulator

struct Simulate: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "simulate", abstract: "Run a practice ServiceNow and related systems on this machine.",
        discussion: """
            On 127.0.0.1: a simulated instance with a user `john.doe` (password `secret`) whose tasks are created, changed and \
            closed; ETO's services under /API, with the account john.doe@example.com (the same password); a Mobile Foundation \
            runtime under /mfp, with the client `bellhop` (the same secret); a JSON API with issues under /rest/v1; chat and \
            webhook receivers, pagers, ntfy and Matrix, which keep all messages; and, with --mail-port, a mail server. Under \
            /simulator/ you can see the tasks and all requests, and make the systems fail.

            To connect to it: `bellhop init practice --instance http://127.0.0.1:8080`. Its receivers are /hooks/NAME, which takes \
            what Slack takes, and /webhook/NAME, which takes anything.
            """)

    @Option(help: "The port; 0 chooses a free one.")
    var port = 8080

    @Option(help: "The port of a mail server (SMTP, without TLS); by default there is none.")
    var mailPort: Int?

    @Option(help: "The user that the tasks are assigned to.")
    var user = "john.doe"

    @Option(help: "That user's password.")
    var password = "secret"

    @Option(help: "How many times faster than real time the instance's clock runs.")
    var speed = 1.0

    @Option(help: "How many milliseconds the instance takes for each request.")
    var latency = 0

    @Option(help: "A fault from the start, in the form of /simulator/faults; may be given several times.")
    var fault: [String] = []

    @Option(help: "The random seed: the same seed makes the same tasks; random by default.")
    var seed: UInt64?

    @Flag(help: "Fewer tasks at night and at weekends, and none at the start.")
    var officeHours = false

    @Flag(help: "Create no tasks: only those sent to /simulator/tasks exist.")
    var still = false

    func validate() throws {
        if !(0...65535).contains(port) { throw ValidationError("--port must be from 0 to 65535.") }
        if let mailPort, !(0...65535).contains(mailPort) { throw ValidationError("--mail-port is from 0 to 65535.") }
        if !(0...600_000).contains(latency) { throw ValidationError("--latency is from 0 to 600000 milliseconds.") }
        if !(speed > 0 && speed <= 1000) { throw ValidationError("--speed must be above 0 and at most 1000.") }
    }

    func run() async throws {
        let clock = speed == 1 ? SystemClock() : SystemClock(startingAt: SystemClock().now, speed: speed)
        // Without a seed, each start simulates another instance: its tasks have new ids, so they are not confused with earlier tasks.
        let seed = seed ?? .random(in: .min ... .max)
        var settings = InstanceSettings()
        settings.latency = latency
        let simulation = Simulation(settings: settings, seed: seed, now: { clock.now.microseconds })
        for rule in fault {
            do { try simulation.faults.add(json: rule) } catch {
                throw CommandError(.usage, "--fault: \(error.message).")
            }
        }
        _ = simulation.instance.addUser(user, password: password)
        simulation.addOtherSystems(account: "\(user)@example.com", password: password, secret: password)
        let server = SimulatorServer(simulation, port: port)
        let people = simulation.instance.addPeople()
        let (user, password, still, officeHours, port, speed) = (user, password, still, officeHours, port, speed)
        let mailServer = mailPort.map { MailServer(simulation.mail, port: $0) }
        try await Stopping.onSignal {
            do {
                try await server.serve { address in
                    Console.data(address)
                    Console.note(
                        "A simulated instance answers there: user \(user), password \(password); ETO, Mobile Foundation and a JSON API, too. "
                            + "Stop it with Ctrl-C.")
                    Console.note(SimulateStory.connecting(to: address))
                    try await Self.withMail(mailServer) {
                        if !still {
                            let start = simulation.now()
                            var scenario =
                                officeHours
                                ? Scenario.everyday(for: user, among: people, from: start, tasksPerHour: 12, seed: seed)
                                : Scenario.practice(for: user, among: people, from: start, seed: seed)
                            for event in scenario.tick(to: start) { simulation.instance.apply(event) }
                            if !officeHours {
                                Console.note(
                                    "Two tasks are there. Something happens a few seconds after the first poll: start `bellhop run`."
                                )
                            }
                            let story = SimulateStory(instance: simulation.instance, speed: speed)
                            try await simulation.play(scenario) { Console.note(story.line($0)) }
                        }
                        try await ContinuousClock().sleep(for: .seconds(1 << 30))
                    }
                }
            } catch let problem as SimulatorServer.Problem {
                guard case .cannotListen = problem else { return }
                throw CommandError(.tryLater, "The port \(port) of 127.0.0.1 cannot be used: choose another with --port.")
            }
        }
    }

    /// Runs a mail server, if there is one, during the body.
    private static func withMail(_ server: MailServer?, _ body: () async throws -> Void) async throws {
        guard let server else { return try await body() }
        do {
            try await server.serve { port in
                Console.note("A mail server listens on 127.0.0.1:\(port).")
                try await body()
            }
        } catch let error as MailServer.CannotListen {
            throw CommandError(
                .tryLater, "The port \(error.port) of 127.0.0.1 cannot be used: choose another with --mail-port.")
        }
    }
}
