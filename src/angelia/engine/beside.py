"""The facts that change nothing of where a turn stands."""

from angelia.core import entry as e

Beside = (
    e.ConversationOpened
    | e.ProcessStarted
    | e.ProcessEnded
    | e.SystemSaid
    | e.Pinned
    | e.Unpinned
    | e.DeliveryQueued
    | e.DeliveryStarted
    | e.DeliverySettled
    | e.DeliveryReached
    | e.DeliveryPutOff
    | e.PieceArrived
    | e.PreviewStarted
    | e.PreviewShown
    | e.DoorMoved
    | e.CommandGiven
    | e.TurnedAway
    | e.SetAside
)
