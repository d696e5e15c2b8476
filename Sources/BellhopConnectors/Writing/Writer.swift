import BellhopCore

/// Performs one attempt to write something: looks, sends, looks again, and stores the note. ``WriteRules`` decides.
struct Writer: Sendable {
    var delivery: Delivery
    var attempt: Attempt
    var notebook: any Notebook
    var clock: any AgentClock
    var times: WriteTimes
    /// The other system, for messages.
    var place: String

    /// The limit on the rests that the server may request during a look after a write, in total.
    private static let patience = Duration.seconds(60)

    private var noteStore: DeliveryNote { DeliveryNote(of: delivery, in: notebook) }

    /// - Parameter prepare: makes the write from the note of earlier attempts; sends nothing.
    func perform<W: Write>(_ prepare: (WriteNote) async throws(Failure) -> W) async throws(Failure) -> Receipt {
        let receipt: Receipt
        do throws(Failure) {
            let note = try await noteStore.read(at: attempt)
            var write = try await prepare(note)
            receipt = try await run(&write, note)
        } catch {
            if error.remedy == .giveUp { await noteStore.forget() }
            throw error
        }
        await noteStore.forget()
        return receipt
    }

    private func run<W: Write>(_ write: inout W, _ note: WriteNote) async throws(Failure) -> Receipt {
        var note = note
        let rules = WriteRules(
            noun: W.noun, place: place, quiet: W.isRepeatable ? .zero : times.quiet, foundAtFirst: W.foundAtFirst)
        let look = try await write.look(rules.occasion(note, attempt))
        if let receipt = try rules.step(after: look, note, attempt, at: clock.now).receipt { return receipt }
        var sending = note
        sending.since = note.since ?? write.time ?? clock.now
        sending.before = write.before
        // Stored before anything is sent, so that later attempts know where to look.
        try await keep(sending, insteadOf: &note)
        while true {
            let sent: Result<Sent, Failure>
            do throws(Failure) {
                let notAfter = min(attempt.now + times.start, delivery.expires ?? .distantFuture)
                sent = .success(try await write.send(notAfter: notAfter))
            } catch {
                sent = .failure(error)
            }
            let step: WriteStep
            switch sent {
            case .success(.proved(let receipt)): step = .done(receipt)
            case .success(.notTaken): step = .send
            case .success(.unclear(let failure)):
                step = rules.step(after: failure, try await self.look(&write, after: failure), mayResend: true)
            case .success(.claimed(let status, let why)):
                var counted = note
                step = rules.step(afterClaim: status, ifAbsent: why, try await confirm(&write, status), &counted)
                try await keep(counted, insteadOf: &note, or: .unknownOutcome)
            case .failure(let failure) where rules.needsLook(failure):
                step = rules.step(after: failure, try await self.look(&write, after: failure), mayResend: false)
            case .failure(let failure): step = .stop(failure)
            }
            if let receipt = try step.receipt { return receipt }
        }
    }

    private func keep(
        _ new: WriteNote, insteadOf note: inout WriteNote, or remedy: Failure.Remedy = .retry(after: nil)
    ) async throws(Failure) {
        if new != note { try await noteStore.keep(new, or: remedy) }
        note = new
    }

    /// Looks after a failed request. If the look fails too, the outcome is unknown, so that the next attempt looks again.
    private func look<W: Write>(_ write: inout W, after failure: Failure) async throws(Failure) -> Look {
        do throws(Failure) {
            return try await write.look(.unanswered)
        } catch {
            var unknown = Failure(
                failure.reason, .unknownOutcome, "\(failure.message) The lookup afterwards failed: \(error.message)")
            unknown.rest = (error.requestedRest ?? nil) ?? failure.rest
            throw unknown
        }
    }

    /// Looks several times for a write that the other system has confirmed.
    private func confirm<W: Write>(_ write: inout W, _ status: String) async throws(Failure) -> Look {
        do {
            for wait in [.zero] + times.looks {
                if wait > .zero { try await clock.sleep(for: wait) }
                switch try await lookPastRests(&write) {
                case .absent, .altered: continue
                case let look: return look
                }
            }
            return .absent
        } catch {
            let why = (error as? Failure)?.message ?? "the attempt was cancelled"
            throw Failure(.notWritten, .unknownOutcome, "\(place) answered \(status), but this is unconfirmed: \(why)")
        }
    }

    /// Repeats a look after short rests that the server requests, because they say nothing about the write.
    private func lookPastRests<W: Write>(_ write: inout W) async throws(Failure) -> Look {
        var left = Self.patience
        while true {
            do throws(Failure) {
                return try await write.look(.answered)
            } catch {
                guard case .rest(let wait) = error.remedy else { throw error }
                let rest = max(wait ?? .seconds(5), .milliseconds(100))
                left -= rest
                guard left >= .zero, (try? await clock.sleep(for: rest)) != nil else { throw error }
            }
        }
    }
}
